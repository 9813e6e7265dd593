-- The types of a table's columns, with the base types of domains and the elements of arrays.
WITH RECURSIVE reached (oid) AS (
    SELECT a.atttypid FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION
    SELECT further.oid FROM reached
        JOIN pg_catalog.pg_type t ON t.oid = reached.oid
        CROSS JOIN LATERAL (VALUES (t.typbasetype),
            (CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END)) AS further (oid)
    WHERE further.oid <> 0
)
SELECT t.oid, t.typtype, t.typbasetype, CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END,
    t.typtypmod, format_type(t.oid, NULL), t.typnotnull
FROM reached JOIN pg_catalog.pg_type t ON t.oid = reached.oid
