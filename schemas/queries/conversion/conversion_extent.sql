-- How many claims a sealed generation of a `table` ledger has, and the first of its batches.
SELECT (SELECT count(*) FROM {schema}.claims_{ledger}_{generation}),
    (SELECT coalesce(min(seq), 0) FROM {schema}.batches_{ledger}_{generation})
