-- The tables that Citus manages among these: the one with the id $1, and those of schema $2. Only
-- for a server that has the extension; elsewhere pg_dist_partition does not exist.
SELECT c.oid::regclass, p.partmethod, p.repmodel, p.colocationid,
    coalesce(pg_catalog.column_to_column_name(p.logicalrelid, p.partkey), '')
FROM pg_catalog.pg_dist_partition p
    JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = $1::oid OR n.nspname = $2
ORDER BY c.relname
