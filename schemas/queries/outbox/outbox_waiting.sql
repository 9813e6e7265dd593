-- What may be sent next: the oldest rows of each topic. Topics ($2), keys ($3, $4) and rows without
-- an order ($5) are left out if they are held or on their way already. At most $6 rows and $7 bytes
-- in total are taken, of which each topic gets an equal part: the next row is one of the topic that
-- has taken the least, and of those the oldest. A row counts as its bytes, but at least as one of
-- $6 equal parts of $7. NOT IN finds keys and positions by a hash. An anti join would compare each
-- row with each key: a read that leaves out 10,000 keys would take half a minute.
-- DANGER: do not read by `position > last`. A transaction that began earlier may commit later, and
-- its rows would never be sent.
WITH RECURSIVE topics AS (
    (SELECT topic FROM {schema}.outbox WHERE consumer_group = $1 ORDER BY topic LIMIT 1)
    UNION ALL
    SELECT (SELECT o.topic FROM {schema}.outbox AS o
        WHERE o.consumer_group = $1 AND o.topic > t.topic ORDER BY o.topic LIMIT 1)
    FROM topics AS t WHERE t.topic IS NOT NULL
),
oldest AS (
    SELECT found.*, coalesce(octet_length(found.payload), 0)
            + coalesce(octet_length(found.record_key), 0) + octet_length(found.headers) AS bytes
    FROM topics AS t CROSS JOIN LATERAL (
        SELECT o.position, o.id, o.topic, o.order_key, o.record_key, o.payload, o.headers
        FROM {schema}.outbox AS o
        WHERE o.consumer_group = $1 AND o.topic = t.topic
            AND o.position NOT IN (SELECT unnest($5::bigint[]))
            AND (o.order_key IS NULL OR (o.topic, o.order_key) NOT IN (
                SELECT held.topic, held.order_key
                FROM unnest($3::text[], $4::bytea[]) AS held (topic, order_key)))
        ORDER BY o.position LIMIT $6::bigint
    ) AS found
    WHERE t.topic IS NOT NULL AND t.topic <> ALL ($2::text[])
),
shared AS (
    SELECT oldest.*, coalesce(sum(greatest(bytes, $7::bigint / $6::bigint)) OVER (
        PARTITION BY topic ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS taken
    FROM oldest
),
measured AS (
    SELECT shared.*, sum(bytes) OVER (ORDER BY taken, position, topic) - bytes AS bytes_before
    FROM shared
)
SELECT position, id, topic, order_key, record_key, payload, headers
FROM measured WHERE bytes_before < $7::bigint
ORDER BY taken, position, topic LIMIT $6::bigint
