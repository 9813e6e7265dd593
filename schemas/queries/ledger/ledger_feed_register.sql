-- A retired group stays retired until `onceward groups retire --undo`; a retired feed without such
-- fences is in use again.
INSERT INTO {schema}.ledger_feeds AS known (ledger, consumer_group, topic)
VALUES ($1::integer, $2, $3)
ON CONFLICT (ledger, consumer_group, topic) DO UPDATE SET
    retired_at = CASE WHEN EXISTS (SELECT FROM {schema}.fences f WHERE f.consumer_group = $2
        AND f.topic = $3 AND f.retired_at IS NOT NULL) THEN known.retired_at END
RETURNING source
