-- Who has held the ledger's lock for longer than a claim of a worker does. Not this session, and
-- not those that only wait.
SELECT coalesce('pid ' || h.pid, 'prepared transaction ' || h.prepared), coalesce(h.role, ''),
    coalesce(h.state, 'prepared'), extract(epoch FROM clock_timestamp() - h.since)::bigint
FROM {schema}.holders($1) AS h
WHERE h.pid IS DISTINCT FROM pg_backend_pid() AND h.since < clock_timestamp() - interval '1 s'
LIMIT 5
