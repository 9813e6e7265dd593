UPDATE {schema}.fences SET retired_at = NULL
WHERE consumer_group = $1 AND ($2::text IS NULL OR topic = $2)
    AND ($3::integer IS NULL OR partition = $3) AND retired_at IS NOT NULL
RETURNING topic, partition, next_offset, moved_at
