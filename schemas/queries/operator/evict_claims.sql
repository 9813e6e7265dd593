SELECT {schema}.evict_claims($1::integer, $2::uuid[], $3)
UNION ALL
SELECT {schema}.evict_leases($1::integer, $2::uuid[], $3)
