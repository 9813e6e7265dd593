-- As explain_segment_claim, for a segment in parts, each of which may hold the key.
SELECT key.digest, b.claimed_at, f.consumer_group, f.topic, place.partition, place.first_offset,
    place.last_offset,
    nullif(encode(substr(block.fingerprints, block.at + 1, 16), 'hex')::uuid,
        '00000000-0000-0000-0000-000000000000'),
    block.part
FROM unnest($1::uuid[]) AS key (digest)
    JOIN {schema}.segment_parts p ON p.ledger || '_' || p.generation = '{table}'
    CROSS JOIN LATERAL (SELECT s.part, s.batches, s.fingerprints,
            position(uuid_send(key.digest) IN s.digests) - 1 AS at
        FROM {schema}.sealed_{table} s WHERE s.part = p.part AND s.first_digest <= key.digest
        ORDER BY s.part DESC, s.first_digest DESC LIMIT 1) AS block
    JOIN {schema}.batches_{table} b ON b.seq = (SELECT min(seq) FROM {schema}.batches_{table})
        + ('x' || encode(substr(block.batches, block.at / 4 + 1, 4), 'hex'))::bit(32)::bigint
    LEFT JOIN {schema}.ledger_feeds f ON f.source = b.source
    CROSS JOIN unnest(b.partitions, b.first_offsets, b.last_offsets)
        AS place (partition, first_offset, last_offset)
WHERE block.at >= 0
ORDER BY b.seq, place.partition
