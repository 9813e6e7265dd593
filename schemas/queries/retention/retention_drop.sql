SELECT {schema}.drop_generation($1::integer, $2::bigint)
