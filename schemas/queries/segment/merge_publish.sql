SELECT {schema}.publish_merge($1::integer, $2::bigint, $3::bigint, $4::bigint, $5::integer,
    $6::bigint, $7::integer)
