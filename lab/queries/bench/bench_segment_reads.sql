-- How often a block of a ledger's segments was looked for; sessions tell the server at their end.
SELECT coalesce(sum(pg_stat_get_numscans(i.indexrelid)), 0)::bigint
FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid, pg_class pattern
WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
    AND c.relname ~ ('^sealed_' || $1 || '_[0-9]+(m[0-9]+)?$')
