-- The fence was moved back: these messages are read again, so their dead letters hold back no
-- message.
UPDATE {schema}.dead_letters AS d SET resolved_at = now()
FROM {schema}.fences f
WHERE d.consumer_group = $1 AND d.topic = $2 AND d.partition = $3::integer
    AND d.record_offset >= $4::bigint AND d.resolved_at IS NULL
    AND f.consumer_group = d.consumer_group AND f.topic = d.topic AND f.partition = d.partition
    AND d.identity = coalesce(nullif(f.topic_id, ''), f.incarnation::text)
