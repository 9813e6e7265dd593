-- DANGER: compare the owner and the fence's offset here, in the row, and not in memory. $8 and $9
-- first move the fence to the end of its partition, under the same rule as for a batch: only from
-- where its reading began.
UPDATE {schema}.fences SET
    watermark = greatest(watermark, timestamptz 'epoch' + $5::bigint * interval '1 microsecond'),
    next_offset = coalesce($9::bigint, next_offset),
    leader_epoch = CASE WHEN $9::bigint > next_offset THEN -1 ELSE leader_epoch END,
    moved_at = CASE WHEN $9::bigint > next_offset THEN now() ELSE moved_at END
WHERE consumer_group = $1 AND topic = $2 AND partition = $3::integer AND owner = $4::uuid
    AND retired_at IS NULL
    AND ($8::bigint IS NULL OR next_offset = $8::bigint)
    AND coalesce($9::bigint, next_offset) >= next_offset
    AND coalesce($9::bigint, next_offset) >= $6::bigint
    AND ($7 = '' OR topic_id = '' OR topic_id = $7)
