SELECT {schema}.finish_replay($1::bigint)
