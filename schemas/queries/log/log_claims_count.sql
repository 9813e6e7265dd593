-- For a small log only. No digest is read, only the length of each batch's digests.
SELECT coalesce(sum(octet_length(digests)), 0)::bigint / 16
FROM {schema}.claims_{ledger}_{generation}
