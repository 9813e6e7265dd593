-- The live columns of a table, in its own order.
SELECT a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.atthasdef, a.attidentity, a.attgenerated,
    has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
    has_column_privilege(a.attrelid, a.attnum, 'UPDATE'), format_type(a.atttypid, a.atttypmod),
    t.typdefault IS NOT NULL, t.typnotnull
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
