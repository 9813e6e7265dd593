-- Who has held the ledger's lock for longer than a claim of a worker does. Not this session, and
-- not those that only wait. If PostgreSQL hides since when from the schema's owner, a holder is
-- named all the same, after the others.
SELECT coalesce('pid ' || h.pid, 'prepared transaction ' || h.prepared), coalesce(h.role, ''),
    coalesce(h.state, CASE WHEN h.pid IS NULL THEN 'prepared' ELSE 'hidden' END),
    coalesce(extract(epoch FROM clock_timestamp() - h.since), 0)::bigint
FROM {schema}.holders($1) AS h
WHERE h.pid IS DISTINCT FROM pg_backend_pid()
    AND (h.since < clock_timestamp() - interval '1 s') IS NOT FALSE
ORDER BY h.since
LIMIT 5
