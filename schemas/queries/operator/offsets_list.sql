SELECT topic, partition, next_offset, epoch, owner_name, taken_at, moved_at, watermark, retired_at,
    applied, duplicates, conflicts, dead_lettered, skipped, topic_id
FROM {schema}.fences
WHERE consumer_group = $1 AND ($2::text IS NULL OR topic = $2)
    AND ($3::integer IS NULL OR partition = $3)
ORDER BY topic, partition
