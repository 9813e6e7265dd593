SELECT coalesce(sum(length(digests)) / 16, 0)::bigint, coalesce(min(seq), 0)
FROM {schema}.claims_{ledger}_{generation}
