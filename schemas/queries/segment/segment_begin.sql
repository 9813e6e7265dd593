SELECT {schema}.begin_segment($1::integer, $2::bigint)
