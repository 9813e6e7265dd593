-- How many claims these segments of a ledger hold.
SELECT coalesce(sum(claims), 0)::bigint FROM {schema}.segments
WHERE ledger = $1::integer AND generation BETWEEN $2::bigint AND $3::bigint
