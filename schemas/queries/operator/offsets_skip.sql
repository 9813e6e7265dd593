INSERT INTO {schema}.skipped_ranges (consumer_group, topic, partition, begin_offset,
    end_offset, reason)
VALUES ($1, $2, $3::integer, $4::bigint, $5::bigint, $6)
