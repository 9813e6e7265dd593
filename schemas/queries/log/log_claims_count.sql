-- Of a small log alone. No digest is read, only how long the batches' are.
SELECT coalesce(sum(octet_length(digests)), 0)::bigint / 16
FROM {schema}.claims_{ledger}_{generation}
