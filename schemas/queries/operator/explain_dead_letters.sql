-- Finds letters by digest, from any topic. A letter without a digest is found by the key's text, in
-- the topics $3, whose messages are searched (one with another digest belongs to another tenant).
-- $4: from that topic only. The states are those of dlq_select.
SELECT d.digest, d.created_at, d.consumer_group, d.topic, d.partition, d.record_offset,
    d.error_class, d.sqlstate, d.reason, d.fingerprint, d.first_fingerprint, d.first_places,
    d.dead_letter, d.attempts, CASE
        WHEN d.resolved_at IS NULL THEN 'open'
        WHEN d.redrive_began_at IS NULL THEN 'resolved'
        WHEN d.redriven_at IS NULL THEN 'redriving'
        ELSE 'redriven' END
FROM {schema}.dead_letters d
WHERE (d.digest = ANY ($1::uuid[])
        OR (d.digest IS NULL AND d.key_text = $2 AND d.topic = ANY ($3::text[])))
    AND ($4::text IS NULL OR d.topic = $4)
ORDER BY d.dead_letter DESC
LIMIT 100
