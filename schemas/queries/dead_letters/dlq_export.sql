-- A page of whole dead letters as JSON: $10 of them in the order of their numbers.
-- `matching` is dlq_matching. Bytes are base64. dlq_import reads it.
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
FROM ({matching}) AS d
ORDER BY d.dead_letter
LIMIT $10::bigint
