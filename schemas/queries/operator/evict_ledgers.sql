SELECT ledger, name FROM {schema}.ledgers WHERE $1::text IS NULL OR name = $1 ORDER BY name
