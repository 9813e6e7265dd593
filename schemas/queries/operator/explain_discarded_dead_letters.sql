-- Discarded letters keep neither the key's text nor the tries.
SELECT d.dead_letter, d.created_at, d.consumer_group, d.topic, d.partition, d.record_offset,
    d.error_class, d.sqlstate, d.reason, d.discarded_by, d.discarded_at
FROM {schema}.discarded_dead_letters d
WHERE d.digest = ANY ($1::uuid[]) AND ($2::text IS NULL OR d.topic = $2)
ORDER BY d.dead_letter DESC
LIMIT 100
