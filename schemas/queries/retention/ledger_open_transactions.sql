-- For each ledger with an inbox: how many transactions hold its lock, and for how long the oldest
-- has been open, in seconds. Null if PostgreSQL hides that from the schema's owner.
SELECT l.name, count(coalesce(h.pid::text, h.prepared)),
    extract(epoch FROM clock_timestamp() - min(h.since))::bigint
FROM {schema}.ledgers l LEFT JOIN LATERAL {schema}.holders(l.name) AS h ON true
WHERE EXISTS (SELECT FROM {schema}.ledger_feeds f
    WHERE f.ledger = l.ledger AND f.consumer_group = 'inbox')
GROUP BY l.name
