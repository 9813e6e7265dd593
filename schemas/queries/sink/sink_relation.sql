-- The table that a sink writes to, by its quoted name; no row if there is none.
SELECT c.oid, n.nspname, c.relname, c.relkind, c.relpersistence, c.relhasrules,
    row_security_active(c.oid), has_table_privilege(c.oid, 'INSERT'),
    has_table_privilege(c.oid, 'DELETE'), coalesce(t.typarray, 0), c.reltype,
    -- Whether the server has Citus.
    to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL
FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_type t ON t.oid = c.reltype
WHERE c.oid = to_regclass($1)
