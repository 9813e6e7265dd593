UPDATE {schema}.ledger_feeds SET log_partitions = coalesce(log_partitions, $2::integer)
WHERE source = $1::integer
RETURNING log_partitions
