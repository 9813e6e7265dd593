-- One row for each rejected message. The fence's row names the log that the offsets belong to. If
-- there is no fence, identity is null and the statement fails. An inner join would drop the message
-- instead, and it would be nowhere.
INSERT INTO {schema}.dead_letters AS dead_letters (consumer_group, topic, identity, partition,
    record_offset,
    record_timestamp, record_key, headers, payload, key_text, digest, error_class, sqlstate, reason,
    attempts, fingerprint, first_fingerprint, first_places)
SELECT $1, $2, coalesce(nullif(fence.topic_id, ''), fence.incarnation::text), rejected.partition,
    rejected.record_offset, timestamptz 'epoch' + rejected.milliseconds * interval '1 millisecond',
    rejected.record_key, rejected.headers::jsonb, rejected.payload, rejected.key_text,
    rejected.digest, rejected.error_class, rejected.sqlstate, rejected.reason, rejected.attempts,
    rejected.fingerprint, rejected.first_fingerprint, rejected.first_places::jsonb
FROM unnest($3::integer[], $4::bigint[], $5::text[]::bigint[], $6::bytea[], $7::text[], $8::bytea[],
        $9::bytea[], $10::uuid[], $11::text[], $12::text[], $13::text[], $14::integer[],
        $15::uuid[], $16::uuid[], $17::text[])
    WITH ORDINALITY AS rejected (partition, record_offset, milliseconds, record_key, headers,
        payload, key_text, digest, error_class, sqlstate, reason, attempts, fingerprint,
        first_fingerprint, first_places, position)
    LEFT JOIN {schema}.fences AS fence ON fence.consumer_group = $1 AND fence.topic = $2
        AND fence.partition = rejected.partition
ORDER BY rejected.position
-- If the same message is rejected again, nothing changes, except that a resolved letter is open
-- again.
ON CONFLICT ON CONSTRAINT dead_letters_once DO UPDATE SET resolved_at = NULL
    WHERE dead_letters.resolved_at IS NOT NULL
-- Returns which letters are new, and the log that each belongs to: only new ones are published. A
-- row that existed and was updated has an xmax.
RETURNING partition, record_offset, identity, (xmax = 0)::integer
