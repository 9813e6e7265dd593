-- Sets a new owner: a worker that still runs loses the fence, and may not take it again.
UPDATE {schema}.fences SET retired_at = now(), owner = gen_random_uuid(),
    owner_name = 'onceward groups retire'
WHERE consumer_group = $1 AND ($2::text IS NULL OR topic = $2)
    AND ($3::integer IS NULL OR partition = $3) AND retired_at IS NULL
RETURNING topic, partition, next_offset, moved_at
