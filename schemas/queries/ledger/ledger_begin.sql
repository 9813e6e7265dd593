-- The ledger's first generation. If there is a current one, the exclusive lock is not taken at all.
SELECT CASE WHEN EXISTS (SELECT FROM {schema}.generations
    WHERE ledger = $1::integer AND sealed_at IS NULL)
    THEN 0 ELSE {schema}.rotate_ledger($1::integer, 0) END
