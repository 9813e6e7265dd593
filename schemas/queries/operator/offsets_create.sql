INSERT INTO {schema}.fences (consumer_group, topic, partition, incarnation, epoch, owner,
    owner_name, first_offset, next_offset)
VALUES ($1, $2, $3::integer, gen_random_uuid(), 1, gen_random_uuid(),
    'onceward offsets', $4::bigint, $4::bigint)
