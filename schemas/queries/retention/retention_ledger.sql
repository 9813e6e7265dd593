SELECT ledger, store FROM {schema}.ledgers WHERE name = $1
