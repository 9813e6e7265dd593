SELECT {schema}.evict_claims($1::integer, $2::uuid[], $3)
