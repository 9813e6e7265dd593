-- Which table a name means, what its columns are, and whether it has rules, in one text. DANGER:
-- binary COPY silently takes an int8 for a float8, and a rule may drop rows that INSERT writes. So
-- this is compared under the table's lock before each write. It hashes the catalog's rows, because
-- making text of them takes longer. The columns' hashes are joined by bit_xor, since a hash over
-- them as numbers would keep only 32 bits of each.
SELECT (hash_record_extended(ROW(c.oid, c.relkind, c.relpersistence, c.relhasrules,
        c.relrowsecurity, {partitions}), 0)
    # coalesce((
        SELECT bit_xor(hash_record_extended(ROW(a.attnum, a.atttypid, a.atttypmod, a.attgenerated,
            a.attname), 0))
        FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), 0))::text
FROM pg_catalog.pg_class c
WHERE c.oid = to_regclass($1)
