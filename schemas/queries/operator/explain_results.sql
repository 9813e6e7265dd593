-- The headers and the body are read only if requested.
SELECT r.digest, r.kind, r.status, octet_length(r.body), r.stored_at::text,
    CASE WHEN $2::boolean THEN r.headers::text END, CASE WHEN $2::boolean THEN r.body END
FROM {schema}.{table} r
WHERE r.digest = ANY ($1::uuid[])
