SELECT generation FROM {schema}.generations WHERE ledger = $1::integer AND sealed_at IS NULL
