-- Records the fence's current offset; nothing if the fence has passed the suspected record ($6).
INSERT INTO {schema}.partition_suspects AS suspect (consumer_group, topic, partition, next_offset,
    resident_bytes, budget_bytes)
SELECT consumer_group, topic, partition, next_offset, $4::bigint, $5::bigint
FROM {schema}.fences
WHERE consumer_group = $1 AND topic = $2 AND partition = $3::integer
    AND next_offset <= coalesce($6::bigint, next_offset)
ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = excluded.next_offset,
    resident_bytes = excluded.resident_bytes, budget_bytes = excluded.budget_bytes,
    suspected_at = now(), cleared_at = NULL
RETURNING suspect.next_offset
