-- The part of sink_fingerprint that a partitioned table has: how many of its partitions do not
-- share the transaction's fate. Other tables have NULL: to set up this subquery takes 20 us.
(SELECT count(*)
    FROM pg_catalog.pg_partition_tree(c.oid) AS tree
        JOIN pg_catalog.pg_class p ON p.oid = tree.relid
    WHERE p.relkind NOT IN ('r', 'p') OR p.relpersistence <> 'p')
