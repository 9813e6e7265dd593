-- Resolves the dead letters of messages that are applied in this transaction. The group's fence
-- names the log that the messages belong to. They are locked in the order of their numbers, as a
-- redrive locks them: in another order the two could wait for each other.
WITH resolved AS (
    SELECT letter.dead_letter
    FROM unnest($3::integer[], $4::bigint[]) AS applied (partition, record_offset)
        JOIN {schema}.fences AS fence ON fence.consumer_group = $1 AND fence.topic = $2
            AND fence.partition = applied.partition
        JOIN {schema}.dead_letters AS letter ON letter.consumer_group = $1 AND letter.topic = $2
            AND letter.identity = coalesce(nullif(fence.topic_id, ''), fence.incarnation::text)
            AND letter.partition = applied.partition
            AND letter.record_offset = applied.record_offset
    WHERE letter.resolved_at IS NULL
    ORDER BY letter.dead_letter
    FOR UPDATE OF letter
)
UPDATE {schema}.dead_letters SET resolved_at = now()
WHERE dead_letter = ANY (ARRAY(SELECT resolved.dead_letter FROM resolved))
