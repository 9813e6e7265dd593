SELECT {schema}.unlist_expired($1::integer)
