SELECT coalesce(max(seq), 0) FROM {schema}.batches_{ledger}_{generation}
