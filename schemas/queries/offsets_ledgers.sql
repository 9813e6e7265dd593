-- The ledgers that the topic feeds: each one's oldest generation, and whether an older one has been
-- let go of.
SELECT l.name, l.retention, g.created_at, format('claims_%s_%s', g.ledger, g.generation),
    g.generation > 1
FROM {schema}.ledger_feeds s JOIN {schema}.ledgers l USING (ledger)
    JOIN {schema}.generations g USING (ledger)
WHERE s.consumer_group = $1 AND s.topic = $2 AND s.retired_at IS NULL
    AND NOT EXISTS (SELECT FROM {schema}.generations older
        WHERE older.ledger = g.ledger AND older.generation < g.generation)
