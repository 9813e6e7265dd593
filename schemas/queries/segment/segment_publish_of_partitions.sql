SELECT {schema}.publish_segment_of_partitions($1::integer, $2::bigint, $3::bigint, $4::integer[],
    $5::integer[], $6::bigint[], $7::integer[], $8::integer[])
