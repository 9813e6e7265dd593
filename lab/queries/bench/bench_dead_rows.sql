-- Dead rows in a ledger's tables, TOAST included; and whether the server has counted what its
-- current log holds: sessions tell it at their end.
SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid) + pg_stat_get_dead_tuples(c.reltoastrelid)),
        0)::bigint,
    coalesce(sum(pg_stat_get_tuples_inserted(c.oid)), 0) >=
        (SELECT count(*) FROM {schema}.claims_{ledger}_{generation})
FROM pg_class c, pg_class pattern
WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
    AND c.relkind = 'r'
    AND c.relname ~ ('^(claims|sealed|filters|batches)_' || $1 || '_[0-9]+(m[0-9]+)?$')
