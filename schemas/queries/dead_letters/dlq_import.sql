-- Imports lines of dlq_export. Returns how many were new, and how many had been discarded here. A
-- letter that is in the table already stays as it is.
WITH line AS (
    SELECT text.value::json AS l, text.position
    FROM unnest($1::text[]) WITH ORDINALITY AS text (value, position)
), wanted AS (
    SELECT line.l, line.position, EXISTS (
        SELECT FROM {schema}.discarded_dead_letters AS gone
        WHERE gone.consumer_group = line.l ->> 'group' AND gone.topic = line.l ->> 'topic'
            AND gone.identity = line.l ->> 'identity'
            AND gone.partition = (line.l ->> 'partition')::integer
            AND gone.record_offset = (line.l ->> 'offset')::bigint) AS discarded
    FROM line
), added AS (
    INSERT INTO {schema}.dead_letters (consumer_group, topic, identity, partition, record_offset,
        record_timestamp, record_key, headers, payload, key_text, digest, error_class, sqlstate,
        reason, attempts, created_at, resolved_at, redrive_began_at, redriven_at, fingerprint,
        first_fingerprint, first_places)
    SELECT l ->> 'group', l ->> 'topic', l ->> 'identity', (l ->> 'partition')::integer,
        (l ->> 'offset')::bigint, (l ->> 'timestamp')::timestamptz,
        decode(l ->> 'record_key', 'base64'), (l -> 'headers')::jsonb,
        decode(l ->> 'payload', 'base64'), decode(l ->> 'key', 'base64'), (l ->> 'digest')::uuid,
        l ->> 'class', l ->> 'sqlstate', l ->> 'reason', (l ->> 'attempts')::integer,
        (l ->> 'created_at')::timestamptz, (l ->> 'resolved_at')::timestamptz,
        (l ->> 'redrive_began_at')::timestamptz, (l ->> 'redriven_at')::timestamptz,
        (l ->> 'fingerprint')::uuid, (l ->> 'first_fingerprint')::uuid,
        (l ->> 'first_places')::jsonb
    FROM wanted WHERE NOT discarded ORDER BY position
    ON CONFLICT ON CONSTRAINT dead_letters_once DO NOTHING
    RETURNING 1
)
SELECT (SELECT count(*) FROM added), (SELECT count(*) FROM wanted WHERE discarded)
