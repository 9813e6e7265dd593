SELECT e.digest, e.evicted_at::text, l.name, e.evicted_by, e.reason
FROM {schema}.evictions e JOIN {schema}.ledgers l USING (ledger)
WHERE e.digest = ANY ($1::uuid[])
ORDER BY e.eviction DESC
LIMIT 100
