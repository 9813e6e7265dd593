INSERT INTO {schema}.fence_moves (consumer_group, topic, partition, from_offset, to_offset, new_log,
    reason)
VALUES ($1, $2, $3::integer, $4::bigint, $5::bigint, $6::boolean, $7)
