-- A log knows where a batch came from, not each of its claims: the offsets of its first and last. A
-- digest at a place that is no multiple of 16 is a chance of 2^-128.
SELECT key.digest, b.claimed_at,
    CASE b.source WHEN 0 THEN 'onceward import' ELSE f.consumer_group END, f.topic,
    place.partition, place.first_offset, place.last_offset,
    nullif(encode(substr(b.fingerprints, position(uuid_send(key.digest) IN b.digests), 16),
        'hex')::uuid, '00000000-0000-0000-0000-000000000000')
FROM unnest($1::uuid[]) AS key (digest)
    JOIN {schema}.{table} b ON position(uuid_send(key.digest) IN b.digests) > 0
    LEFT JOIN {schema}.ledger_feeds f USING (source)
    CROSS JOIN unnest(b.partitions, b.first_offsets, b.last_offsets)
        AS place (partition, first_offset, last_offset)
ORDER BY b.seq, place.partition
