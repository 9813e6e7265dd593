SELECT {schema}.publish_segment($1::integer, $2::bigint, $3::bigint, $4::bigint, $5::integer)
