UPDATE {schema}.imports SET position = '', finished_at = now(), moved_at = now()
WHERE import = $1::bigint AND position = $2 AND finished_at IS NULL
