-- The ledger; its feeds that have no log, which are requests, calls of once() and the inbox; and
-- the groups and topics that feed it.
SELECT l.ledger, l.store, l.stores_results,
    coalesce((SELECT string_agg(f.consumer_group || ' ' || f.topic, ', '
            ORDER BY f.consumer_group, f.topic)
        FROM {schema}.ledger_feeds f WHERE f.ledger = l.ledger AND f.retired_at IS NULL
            AND f.longest_request IS NOT NULL), ''),
    coalesce((SELECT string_agg('group ' || f.consumer_group || ' topic ' || f.topic, ', '
            ORDER BY f.consumer_group, f.topic)
        FROM {schema}.ledger_feeds f WHERE f.ledger = l.ledger AND f.retired_at IS NULL
            AND f.longest_request IS NULL), '')
FROM {schema}.ledgers l WHERE l.name = $1
