SELECT {schema}.drop_sealed_log($1::integer, $2::bigint)
