-- The sizes in bytes of the database, of our schema, and of the WAL that a replication slot without
-- a reader keeps; and the slot that keeps most. PostgreSQL does not show how much of the disk is
-- free.
SELECT pg_database_size(current_database()),
    coalesce((SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
        WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'm')), 0)::bigint,
    coalesce(slot.bytes, 0)::bigint, coalesce(slot.slot_name, '')
FROM (VALUES (0)) AS one (row) LEFT JOIN LATERAL (
    SELECT s.slot_name, pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn) AS bytes
    FROM pg_replication_slots s WHERE NOT s.active AND s.restart_lsn IS NOT NULL
    ORDER BY 2 DESC LIMIT 1) AS slot ON true
