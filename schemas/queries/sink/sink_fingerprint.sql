-- Which table a name means, what its columns are, and whether it has rules, in one text. DANGER:
-- binary COPY silently takes an int8 for a float8, and a rule may drop rows that INSERT writes. So
-- this is compared under the table's lock before each write. It hashes the catalog's rows,
-- because making text of them takes three times as long.
SELECT hash_record_extended(ROW(c.oid, c.relkind, c.relpersistence, c.relhasrules, c.relrowsecurity,
    ARRAY(
        SELECT hash_record_extended(ROW(a.attnum, a.atttypid, a.atttypmod, a.attgenerated,
            a.attname), 0)
        FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attnum),
    {partitions}), 0)::text
FROM pg_catalog.pg_class c
WHERE c.oid = to_regclass($1)
