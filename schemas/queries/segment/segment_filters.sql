SELECT filter FROM {schema}.filters_{ledger}_{generation} WHERE shard = $1::integer
