-- What a ledger's tables take on disk, indexes and TOAST included; and how many of them are logs
-- that a sealing left to be done.
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
    count(*) FILTER (WHERE c.relname ~ '^claims_' AND c.relname <> $2
        AND pg_relation_size(c.oid) > 0)
FROM pg_class c, pg_class pattern
WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
    AND c.relkind = 'r'
    AND c.relname ~ ('^(claims|sealed|filters|batches)_' || $1 || '_[0-9]+(m[0-9]+)?$')
