-- Copies the batches, with the number of the transaction that wrote each, for audits of the claims.
INSERT INTO {schema}.batches_{ledger}_{generation} (seq, source, claimed_at, transaction,
    partitions, first_offsets, last_offsets)
SELECT seq, source, claimed_at, xmin::text::bigint, partitions, first_offsets, last_offsets
FROM {schema}.claims_{ledger}_{generation}
