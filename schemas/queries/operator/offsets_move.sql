-- Sets a new owner, so that a running worker loses the fence, takes it again and follows. After a
-- rewind the old watermark is no longer true: messages below it will be passed again.
UPDATE {schema}.fences SET
    owner = gen_random_uuid(),
    epoch = epoch + 1,
    owner_name = 'onceward offsets',
    watermark = CASE WHEN $5::boolean OR $4::bigint < next_offset THEN NULL ELSE watermark END,
    first_offset = CASE WHEN $5::boolean THEN $4::bigint ELSE least(first_offset, $4::bigint) END,
    next_offset = $4::bigint,
    leader_epoch = -1,
    -- What the row says of the log is forgotten; the next worker that takes it writes it again.
    incarnation = CASE WHEN $5::boolean THEN gen_random_uuid() ELSE incarnation END,
    topic_id = CASE WHEN $5::boolean THEN '' ELSE topic_id END,
    cluster_id = CASE WHEN $5::boolean THEN '' ELSE cluster_id END,
    taken_at = now(), moved_at = now()
WHERE consumer_group = $1 AND topic = $2 AND partition = $3::integer
