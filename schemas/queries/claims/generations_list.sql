SELECT generation, sealed_at IS NOT NULL FROM {schema}.generations WHERE ledger = $1::integer
ORDER BY generation
