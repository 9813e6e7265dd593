SELECT generation || coalesce('m' || nullif(merge, 0), '') FROM {schema}.segments
WHERE ledger = $1::integer
