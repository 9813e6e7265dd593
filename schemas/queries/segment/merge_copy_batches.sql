INSERT INTO {schema}.batches_{ledger}_{generation} (seq, source, claimed_at, transaction,
    partitions, first_offsets, last_offsets)
SELECT seq, source, claimed_at, transaction, partitions, first_offsets, last_offsets
FROM {schema}.batches_{ledger}_{merged}
