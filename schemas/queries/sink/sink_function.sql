-- The functions that a name may mean ($1: the schema, '' for the search path), and what the sink
-- must know of each. `ordinality` among its columns says which message a row answers.
SELECT quote_ident(n.nspname) || '.' || quote_ident(p.proname),
    pg_get_function_identity_arguments(p.oid),
    p.pronargs = 1 AND p.proargtypes[0] = 'jsonb[]'::regtype,
    p.prokind, p.proretset, p.provolatile, p.proparallel,
    has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE'),
    p.prorettype = 'void'::regtype
        OR p.prorettype = 'record'::regtype AND p.proallargtypes IS NULL,
    EXISTS (SELECT FROM unnest(p.proargnames, p.proargmodes) AS argument (name, mode)
            WHERE argument.mode IN ('o', 'b', 't') AND argument.name = 'ordinality')
        OR EXISTS (SELECT FROM pg_catalog.pg_type t
                JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
            WHERE t.oid = p.prorettype AND a.attname = 'ordinality' AND a.attnum > 0
                AND NOT a.attisdropped)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = $2 AND ($1::text = '' AND pg_function_is_visible(p.oid) OR n.nspname = $1)
ORDER BY 1, 2
