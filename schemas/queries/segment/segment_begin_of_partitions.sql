SELECT {schema}.begin_segment_of_partitions($1::integer, $2::bigint)
