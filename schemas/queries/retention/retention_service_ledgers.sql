-- The ledgers that only calls of once() or of the inbox feed. No process has their options, so they
-- are derived from the retention, as in expire().
SELECT l.name, l.store, extract(epoch FROM l.retention)::bigint,
    (extract(epoch FROM least(l.retention / 8, interval '3 hours')) * 1000)::bigint
FROM {schema}.ledgers l
WHERE EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.longest_request IS NOT NULL
            AND f.consumer_group IN ('once()', 'inbox'))
    AND NOT EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.retired_at IS NULL
            AND (f.longest_request IS NULL OR f.consumer_group NOT IN ('once()', 'inbox')))
ORDER BY l.name
