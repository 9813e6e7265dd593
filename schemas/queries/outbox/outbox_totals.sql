-- How many rows wait, counted up to 100,000, and the age of the oldest in seconds. The first row of
-- each topic is its oldest, except among transactions that ran at the same time.
WITH RECURSIVE topics AS (
    (SELECT topic FROM {schema}.outbox WHERE consumer_group = $1 ORDER BY topic LIMIT 1)
    UNION ALL
    SELECT (SELECT o.topic FROM {schema}.outbox AS o
        WHERE o.consumer_group = $1 AND o.topic > t.topic ORDER BY o.topic LIMIT 1)
    FROM topics AS t WHERE t.topic IS NOT NULL
)
SELECT (SELECT count(*) FROM (SELECT FROM {schema}.outbox WHERE consumer_group = $1
        LIMIT 100000) AS waiting),
    coalesce(ceil(extract(epoch FROM max(clock_timestamp() - head.created_at)))::bigint, 0)
FROM topics AS t CROSS JOIN LATERAL (
    SELECT o.created_at FROM {schema}.outbox AS o
    WHERE o.consumer_group = $1 AND o.topic = t.topic ORDER BY o.position LIMIT 1
) AS head
