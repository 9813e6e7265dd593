-- Locks the rows in one order: ORDER BY takes effect before FOR UPDATE. DANGER: compare both owner
-- and next_offset. The owner alone would let the fence jump over a batch that was dropped inside
-- the worker. The offset alone would admit a second owner after a fail-over.
SELECT f.partition
FROM {schema}.fences AS f
    JOIN unnest($3::integer[], $4::bigint[], $5::uuid[]) AS wanted (partition, begin_offset, owner)
        ON f.partition = wanted.partition
WHERE f.consumer_group = $1 AND f.topic = $2
    AND f.owner = wanted.owner AND f.next_offset = wanted.begin_offset
ORDER BY f.partition
FOR UPDATE OF f
