UPDATE {schema}.imports SET position = $3, claimed = claimed + $4::bigint,
    known = known + $5::bigint, refused = refused + $6::bigint, moved_at = now()
WHERE import = $1::bigint AND position = $2 AND finished_at IS NULL
