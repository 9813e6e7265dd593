-- Which table a name means, what its columns are, and whether it has rules, in one text. DANGER:
-- binary COPY silently takes an int8 for a float8, and a rule may drop rows that INSERT writes. So
-- this is compared under the table's lock before each write.
SELECT concat_ws(' ', c.oid, c.relkind, c.relpersistence, c.relhasrules, c.relrowsecurity, md5((
        SELECT string_agg(concat_ws(' ', a.attnum, a.atttypid, a.atttypmod, a.attgenerated,
            a.attname), ',' ORDER BY a.attnum)
        FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)),
    CASE WHEN c.relkind = 'p' THEN (
        SELECT count(*) FROM pg_catalog.pg_partition_tree(c.oid) AS tree
            JOIN pg_catalog.pg_class p ON p.oid = tree.relid
        WHERE p.relkind NOT IN ('r', 'p') OR p.relpersistence <> 'p') END)
FROM pg_catalog.pg_class c
WHERE c.oid = to_regclass($1)
