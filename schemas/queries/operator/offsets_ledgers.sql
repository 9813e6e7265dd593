-- The ledgers that the topic feeds: since when its oldest generation holds claims, also in
-- milliseconds since 1970, and whether an older one has been dropped.
SELECT l.name, l.retention, g.created_at,
    ceil(extract(epoch FROM g.created_at) * 1000)::bigint, g.generation > 1
FROM {schema}.ledger_feeds s JOIN {schema}.ledgers l USING (ledger)
    JOIN {schema}.generations g USING (ledger)
WHERE s.consumer_group = $1 AND s.topic = $2 AND s.retired_at IS NULL
    AND NOT EXISTS (SELECT FROM {schema}.generations older
        WHERE older.ledger = g.ledger AND older.generation < g.generation)
