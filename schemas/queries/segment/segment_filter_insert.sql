INSERT INTO {schema}.filters_{ledger}_{generation} (shard, filter) VALUES ($1::integer, $2::bytea)
