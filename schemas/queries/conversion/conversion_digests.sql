-- All digests of a segment.
SELECT coalesce(string_agg(digests, ''), '') FROM {schema}.sealed_{ledger}_{generation}
