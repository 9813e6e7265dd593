SELECT {schema}.count_results($1::integer, $2::bytea)
