-- As sink_state, for the functions that the name may mean.
SELECT coalesce(hashtextextended(string_agg(concat_ws(' ', p.oid, p.xmin, n.xmin), ','
    ORDER BY p.oid), 0), 0)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = $2 AND ($1::text = '' AND pg_function_is_visible(p.oid) OR n.nspname = $1)
