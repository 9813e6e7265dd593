-- Tables whose names may have been meant, for messages.
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
    AND ($1::text = '' AND pg_table_is_visible(c.oid) OR n.nspname = $1)
ORDER BY 1 LIMIT 1000
