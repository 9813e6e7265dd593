-- A page of dead letters, whole, as JSON: by number, after number $10, $9 of them. The filter is
-- that of dlq_select. Bytes are base64. dlq_import reads it.
SELECT d.dead_letter, json_build_object(
    'form', 'onceward-dead-letter/1', 'number', d.dead_letter, 'group', d.consumer_group,
    'topic', d.topic, 'identity', d.identity, 'partition', d.partition,
    'offset', d.record_offset,
    'timestamp', to_char(d.record_timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'record_key', translate(encode(d.record_key, 'base64'), E'\n', ''),
    'headers', d.headers, 'payload', translate(encode(d.payload, 'base64'), E'\n', ''),
    'key', translate(encode(d.key_text, 'base64'), E'\n', ''), 'digest', d.digest,
    'class', d.error_class, 'sqlstate', d.sqlstate, 'reason', d.reason, 'attempts', d.attempts,
    'created_at', to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'resolved_at', to_char(d.resolved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'redrive_began_at',
    to_char(d.redrive_began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'redriven_at', to_char(d.redriven_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'fingerprint', d.fingerprint, 'first_fingerprint', d.first_fingerprint,
    'first_places', d.first_places)::text
FROM {schema}.dead_letters d CROSS JOIN LATERAL (SELECT CASE
        WHEN d.resolved_at IS NULL THEN 'open'
        WHEN d.redrive_began_at IS NULL THEN 'resolved'
        WHEN d.redriven_at IS NULL THEN 'redriving'
        ELSE 'redriven' END) AS s (state)
WHERE d.consumer_group = $1 AND ($2::text IS NULL OR d.topic = $2)
    AND (cardinality($3::text[]) = 0 OR d.error_class = ANY ($3))
    AND ($4::bigint IS NULL
        OR d.created_at >= timestamptz 'epoch' + $4 * interval '1 millisecond')
    AND ($5::bigint IS NULL OR d.created_at < timestamptz 'epoch' + $5 * interval '1 millisecond')
    AND ($6::bytea IS NULL OR d.key_text = $6 OR d.record_key = $6)
    AND (cardinality($7::bigint[]) = 0 OR d.dead_letter = ANY ($7))
    AND (cardinality($8::text[]) = 0 OR s.state = ANY ($8))
    AND d.dead_letter > $10
ORDER BY d.dead_letter
LIMIT $9::bigint
