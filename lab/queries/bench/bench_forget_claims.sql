TRUNCATE {schema}.claims_{ledger}_{generation}
