SELECT {schema}.orphaned_generations($1::integer) LIMIT $2::integer
