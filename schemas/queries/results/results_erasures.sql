SELECT erasures FROM {schema}.ledgers WHERE ledger = $1::integer
