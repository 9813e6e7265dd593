-- The log, the newest first. $4: the act, or the words that it begins with.
SELECT entry, acted_at, database_role, who, role, way, host, host(address), act, command, target,
    reason, outcome, details::text
FROM {schema}.audit_log
WHERE ($1::bigint IS NULL OR acted_at >= timestamptz 'epoch' + $1 * interval '1 millisecond')
    AND ($2::bigint IS NULL OR acted_at < timestamptz 'epoch' + $2 * interval '1 millisecond')
    AND ($3::text IS NULL OR who = $3 OR database_role = $3)
    AND ($4::text IS NULL OR act = $4 OR starts_with(act, $4 || ' '))
ORDER BY entry DESC
LIMIT $5::bigint
