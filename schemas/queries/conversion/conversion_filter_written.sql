SELECT EXISTS (SELECT FROM {schema}.filters_{ledger}_{generation})
