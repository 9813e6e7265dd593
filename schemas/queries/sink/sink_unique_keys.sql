-- The columns of each unique index that ON CONFLICT can take: valid, not partial, not deferrable,
-- without expressions.
SELECT i.indexrelid, a.attname
FROM pg_catalog.pg_index i
    CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS position
    JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[position]
WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate
    AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indexrelid, position
