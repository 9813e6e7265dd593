-- By where the rows lie: no batched DELETE finds its rows for less.
DELETE FROM {schema}.claims_{ledger}_{generation}
WHERE ctid >= format('(%s,0)', $1::bigint)::tid AND ctid < format('(%s,0)', $2::bigint)::tid
