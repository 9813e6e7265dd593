SELECT {schema}.orphaned_merges($1::integer)
