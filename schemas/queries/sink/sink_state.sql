-- The state of the table, of its partitions, and of what takes part when it is written to, as one
-- number: it is made of the transactions that last changed their rows in the catalog. A change of
-- it says only that reading the catalog again may give another result.
WITH root (oid) AS (SELECT to_regclass($1)::oid),
tree (oid) AS (
    SELECT oid FROM root
    UNION SELECT relid FROM root CROSS JOIN LATERAL pg_catalog.pg_partition_tree(root.oid)
)
SELECT coalesce(hashtextextended(string_agg(concat_ws(' ', part, number, changed), ','
    ORDER BY part, number), 0), 0)
FROM (
    SELECT 'relation' AS part, c.oid::bigint AS number, c.xmin AS changed
        FROM tree JOIN pg_catalog.pg_class c USING (oid)
    UNION ALL SELECT 'schema', n.oid, n.xmin
        FROM root JOIN pg_catalog.pg_class c USING (oid)
            JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    UNION ALL SELECT 'column', a.attnum, a.xmin
        FROM root JOIN pg_catalog.pg_attribute a ON a.attrelid = root.oid
    UNION ALL SELECT 'type', t.oid, t.xmin
        FROM root JOIN pg_catalog.pg_attribute a ON a.attrelid = root.oid
            JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    UNION ALL SELECT 'constraint', k.oid, k.xmin
        FROM tree JOIN pg_catalog.pg_constraint k ON k.conrelid = tree.oid
    UNION ALL SELECT 'index', i.indexrelid, i.xmin
        FROM tree JOIN pg_catalog.pg_index i ON i.indrelid = tree.oid
    UNION ALL SELECT 'trigger', t.oid, t.xmin
        FROM tree JOIN pg_catalog.pg_trigger t ON t.tgrelid = tree.oid
    UNION ALL SELECT 'function', p.oid, p.xmin
        FROM tree JOIN pg_catalog.pg_trigger t ON t.tgrelid = tree.oid
            JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    UNION ALL SELECT 'policy', p.oid, p.xmin
        FROM root JOIN pg_catalog.pg_policy p ON p.polrelid = root.oid
) AS parts
