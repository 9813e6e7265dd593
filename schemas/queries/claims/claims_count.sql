-- Of a small table alone.
SELECT count(*) FROM {schema}.claims_{ledger}_{generation}
