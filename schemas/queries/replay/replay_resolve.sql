-- Resolves the dead letters of messages that are applied in this transaction. The group's fence
-- names the log that the messages belong to.
UPDATE {schema}.dead_letters AS letter SET resolved_at = now()
FROM unnest($3::integer[], $4::bigint[]) AS applied (partition, record_offset)
    JOIN {schema}.fences AS fence ON fence.consumer_group = $1 AND fence.topic = $2
        AND fence.partition = applied.partition
WHERE letter.consumer_group = $1 AND letter.topic = $2
    AND letter.identity = coalesce(nullif(fence.topic_id, ''), fence.incarnation::text)
    AND letter.partition = applied.partition AND letter.record_offset = applied.record_offset
    AND letter.resolved_at IS NULL
