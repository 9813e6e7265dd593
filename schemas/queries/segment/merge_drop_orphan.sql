SELECT {schema}.drop_orphaned_merge($1::integer, $2::text)
