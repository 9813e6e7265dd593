SELECT ledger FROM {schema}.ledgers WHERE name = $1
