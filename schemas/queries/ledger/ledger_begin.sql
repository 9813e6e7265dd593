-- The ledger's first generation. Where there is a current one the exclusive lock is not even asked
-- for.
SELECT CASE WHEN EXISTS (SELECT FROM {schema}.generations
    WHERE ledger = $1::integer AND sealed_at IS NULL)
    THEN 0 ELSE {schema}.rotate_ledger($1::integer, 0) END
