-- For each message (record key, partition, offset) the first open dead letter of its key. Neither
-- the message's own letter counts, nor one that comes after it in its partition. Copies of hot keys
-- hold back no message.
SELECT wanted.position, first.partition, first.record_offset
FROM unnest($3::bytea[], $4::integer[], $5::bigint[])
    WITH ORDINALITY AS wanted (record_key, partition, record_offset, position)
    CROSS JOIN LATERAL (
        SELECT d.partition, d.record_offset FROM {schema}.dead_letters d
        WHERE d.consumer_group = $1 AND d.topic = $2 AND d.resolved_at IS NULL
            AND d.record_key IS NOT NULL AND sha256(d.record_key) = sha256(wanted.record_key)
            AND d.error_class <> 'hot_key'
            AND (d.partition <> wanted.partition OR d.record_offset < wanted.record_offset)
        ORDER BY d.dead_letter LIMIT 1
    ) AS first
