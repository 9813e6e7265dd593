-- Bytes, but for the number of the ledgers' tables and the dead rows of all tables, the catalog's
-- included.
SELECT pg_database_size(current_database()),
    (SELECT sum(size)::bigint FROM pg_ls_waldir()),
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,
    (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = 'onceward'::regnamespace AND relkind = 'r'
            AND relname ~ '^(claims|sealed|filters|batches)_'),
    (SELECT count(*) FROM pg_class
        WHERE relnamespace = 'onceward'::regnamespace AND relkind = 'r'
            AND relname ~ '^(claims|sealed|filters|batches)_'),
    (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_all_tables),
    pg_total_relation_size('soak_events')
