-- A log knows where a batch came from, but of its claims only the first and last offset. The chance
-- of finding a digest at a place that is not a multiple of 16 is 2^-128. A batch's digests are
-- sorted and, like all of SHA-256, spread evenly. So the key is searched in a slice around where it
-- should be, four standard deviations to each side, and only the slice is read. If the slice does
-- not reach around the key, all digests are read. OFFSET 0 keeps each step to itself, so that
-- nothing is read twice.
SELECT found.digest, found.claimed_at,
    CASE found.source WHEN 0 THEN 'onceward import' ELSE f.consumer_group END, f.topic,
    place.partition, place.first_offset, place.last_offset,
    nullif(encode(substr(found.fingerprints, found.at, 16), 'hex')::uuid,
        '00000000-0000-0000-0000-000000000000')
FROM (SELECT slice.*, CASE
        WHEN (slice.before > 0 AND substr(slice.part, 1, 16) > slice.bytes)
            OR (slice.before + 2 * slice.reach < slice.claims
                AND substr(slice.part, 32 * slice.reach - 15, 16) < slice.bytes)
        THEN position(slice.bytes IN slice.digests)
        WHEN position(slice.bytes IN slice.part) > 0
        THEN 16 * slice.before + position(slice.bytes IN slice.part) ELSE 0 END AS at
    FROM (SELECT start.*, substr(start.digests, 16 * start.before + 1, 32 * start.reach) AS part
        FROM (SELECT sized.*,
                greatest((sized.claims * sized.share)::integer - sized.reach, 0) AS before
            FROM (SELECT key.digest, uuid_send(key.digest) AS bytes,
                    ('x' || substr(key.digest::text, 1, 8))::bit(32)::bigint / 4294967296.0::float8
                        AS share,
                    length(b.digests) / 16 AS claims,
                    32 + 2 * sqrt(length(b.digests) / 16)::integer AS reach,
                    b.seq, b.claimed_at, b.source, b.partitions, b.first_offsets, b.last_offsets,
                    b.digests, b.fingerprints
                FROM unnest($1::uuid[]) AS key (digest) CROSS JOIN {schema}.{table} b
                OFFSET 0) AS sized
            OFFSET 0) AS start
        OFFSET 0) AS slice
    OFFSET 0) AS found
    LEFT JOIN {schema}.ledger_feeds f USING (source)
    CROSS JOIN unnest(found.partitions, found.first_offsets, found.last_offsets)
        AS place (partition, first_offset, last_offset)
WHERE found.at > 0
ORDER BY found.seq, place.partition
