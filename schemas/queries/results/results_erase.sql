SELECT {schema}.erase_results($1::integer, $2::bytea, $3)
