-- What waits to be sent, of group $1 or, if that is null, of all groups: for each topic the number
-- of rows, counted up to 100,000, when the first of them was written, and its age in seconds.
WITH RECURSIVE topics AS (
    (SELECT consumer_group, topic FROM {schema}.outbox
        WHERE $1::text IS NULL OR consumer_group = $1
        ORDER BY consumer_group, topic LIMIT 1)
    UNION ALL
    SELECT following.consumer_group, following.topic
    FROM topics AS t CROSS JOIN LATERAL (
        SELECT o.consumer_group, o.topic FROM {schema}.outbox AS o
        WHERE (o.consumer_group, o.topic) > (t.consumer_group, t.topic)
            AND ($1::text IS NULL OR o.consumer_group = $1)
        ORDER BY o.consumer_group, o.topic LIMIT 1
    ) AS following
)
SELECT t.consumer_group, t.topic, counted.waiting, head.created_at,
    greatest(ceil(extract(epoch FROM clock_timestamp() - head.created_at)), 0)::bigint
FROM topics AS t CROSS JOIN LATERAL (
    SELECT count(*) AS waiting FROM (SELECT FROM {schema}.outbox AS o
        WHERE o.consumer_group = t.consumer_group AND o.topic = t.topic LIMIT 100000) AS first_rows
) AS counted CROSS JOIN LATERAL (
    SELECT o.created_at FROM {schema}.outbox AS o
    WHERE o.consumer_group = t.consumer_group AND o.topic = t.topic ORDER BY o.position LIMIT 1
) AS head
ORDER BY t.consumer_group, t.topic
