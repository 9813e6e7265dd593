SELECT {schema}.begin_merge($1::integer, $2::bigint, $3::bigint)
