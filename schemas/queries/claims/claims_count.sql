-- For a small table only.
SELECT count(*) FROM {schema}.claims_{ledger}_{generation}
