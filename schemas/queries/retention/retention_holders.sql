-- What holds the ledger's retention back, the oldest first; a partition of -1 is the list of
-- partitions. The last three columns: an open replay's number, who began it and when.
SELECT consumer_group, topic, partition, watermark, replay, started_by, started_at
FROM (
    SELECT f.consumer_group, f.topic, f.partition, f.watermark, NULL::bigint AS replay,
        NULL::text AS started_by, NULL::timestamptz AS started_at
    FROM {schema}.fences f JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
    WHERE s.ledger = $1::integer AND s.retired_at IS NULL AND f.retired_at IS NULL
    UNION ALL
    SELECT s.consumer_group, s.topic, missing.partition, NULL, NULL, NULL, NULL
    FROM {schema}.ledger_feeds s, generate_series(0, s.partitions - 1) AS missing (partition)
    WHERE s.ledger = $1::integer AND s.retired_at IS NULL AND NOT EXISTS (
        SELECT FROM {schema}.fences f WHERE f.consumer_group = s.consumer_group
            AND f.topic = s.topic AND f.partition = missing.partition)
    UNION ALL
    SELECT s.consumer_group, s.topic, -1,
        CASE WHEN s.longest_request IS NOT NULL THEN clock_timestamp() - s.longest_request
            WHEN s.partitions > 0 THEN s.watermark END, NULL, NULL, NULL
    FROM {schema}.ledger_feeds s WHERE s.ledger = $1::integer AND s.retired_at IS NULL
    UNION ALL
    SELECT r.consumer_group, r.topic, -1, NULL, r.replay, r.started_by, r.started_at
    FROM {schema}.replays r JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
    WHERE s.ledger = $1::integer AND s.retired_at IS NULL
        AND r.finished_at IS NULL AND NOT r.without_dedup
) AS sources
ORDER BY watermark NULLS FIRST, replay NULLS LAST, consumer_group, topic, partition
LIMIT $2::integer
