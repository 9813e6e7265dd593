UPDATE {schema}.ledger_feeds SET log_partitions = coalesce(nullif(log_partitions, 0), $2::integer)
WHERE source = $1::integer
RETURNING log_partitions
