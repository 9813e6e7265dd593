SELECT {schema}.discard_dead_letters($1::bigint[], $2)
