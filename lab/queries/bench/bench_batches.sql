-- Batches that the ledger's logs got. Sessions report it at their end.
SELECT coalesce(sum(n_tup_ins), 0)::bigint FROM pg_stat_all_tables
WHERE schemaname = '{schema}' AND relname ~ '^claims_[0-9]+_[0-9]+$'
