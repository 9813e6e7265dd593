-- Partitions whose rows do not share the transaction's fate, or are not in this database.
SELECT c.oid::regclass::text
FROM pg_catalog.pg_partition_tree($1::oid) AS tree JOIN pg_catalog.pg_class c ON c.oid = tree.relid
WHERE c.relkind NOT IN ('r', 'p') OR c.relpersistence <> 'p'
ORDER BY 1
