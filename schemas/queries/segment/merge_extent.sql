-- The first batch of a segment; null if it has none.
SELECT min(seq) FROM {schema}.batches_{ledger}_{generation}
