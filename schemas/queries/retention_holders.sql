-- What holds the ledger's retention back, the oldest first; a partition of -1 stands for the list
-- of partitions.
SELECT consumer_group, topic, partition, watermark
FROM (
    SELECT f.consumer_group, f.topic, f.partition, f.watermark
    FROM {schema}.fences f JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
    WHERE s.ledger = $1::integer AND s.retired_at IS NULL AND f.retired_at IS NULL
    UNION ALL
    SELECT s.consumer_group, s.topic, missing.partition, NULL
    FROM {schema}.ledger_feeds s, generate_series(0, s.partitions - 1) AS missing (partition)
    WHERE s.ledger = $1::integer AND s.retired_at IS NULL AND NOT EXISTS (
        SELECT FROM {schema}.fences f WHERE f.consumer_group = s.consumer_group
            AND f.topic = s.topic AND f.partition = missing.partition)
    UNION ALL
    SELECT s.consumer_group, s.topic, -1,
        CASE WHEN s.longest_request IS NOT NULL THEN clock_timestamp() - s.longest_request
            WHEN s.partitions > 0 THEN s.watermark END
    FROM {schema}.ledger_feeds s WHERE s.ledger = $1::integer AND s.retired_at IS NULL
) AS sources
ORDER BY watermark NULLS FIRST, consumer_group, topic, partition
LIMIT $2::integer
