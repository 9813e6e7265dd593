-- The sessions that have held the ledger's lock for longer than a worker's claim does, without this
-- one and those that only wait. If PostgreSQL hides since when from the schema's owner, the holder
-- is named too, after the others.
SELECT coalesce('pid ' || h.pid, 'prepared transaction ' || h.prepared), coalesce(h.role, ''),
    coalesce(h.state, CASE WHEN h.pid IS NULL THEN 'prepared' ELSE 'hidden' END),
    coalesce(extract(epoch FROM clock_timestamp() - h.since), 0)::bigint
FROM {schema}.holders($1) AS h
WHERE h.pid IS DISTINCT FROM pg_backend_pid()
    AND (h.since < clock_timestamp() - interval '1 s') IS NOT FALSE
ORDER BY h.since
LIMIT 5
