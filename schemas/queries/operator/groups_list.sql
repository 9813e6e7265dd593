SELECT consumer_group, topic,
    (SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM {schema}.ledger_feeds s
        JOIN {schema}.ledgers l USING (ledger)
        WHERE s.consumer_group = t.consumer_group AND s.topic = t.topic AND s.retired_at IS NULL),
    (SELECT count(*) FROM {schema}.fences f
        WHERE f.consumer_group = t.consumer_group AND f.topic = t.topic),
    (SELECT count(*) FROM {schema}.fences f
        WHERE f.consumer_group = t.consumer_group AND f.topic = t.topic
            AND f.retired_at IS NOT NULL),
    (SELECT max(moved_at) FROM {schema}.fences f
        WHERE f.consumer_group = t.consumer_group AND f.topic = t.topic),
    (SELECT CASE WHEN count(*) = count(f.watermark) THEN min(f.watermark) END FROM {schema}.fences f
        WHERE f.consumer_group = t.consumer_group AND f.topic = t.topic AND f.retired_at IS NULL),
    (SELECT 'since ' || p.paused_at || ': ' || p.reason FROM {schema}.topic_pauses p
        WHERE p.consumer_group = t.consumer_group AND p.topic = t.topic AND p.resumed_at IS NULL)
FROM (SELECT consumer_group, topic FROM {schema}.fences
    UNION SELECT consumer_group, topic FROM {schema}.ledger_feeds) AS t
ORDER BY consumer_group, topic
