-- As segment_find, but each digest is searched in one part of the segment ($2).
SELECT wanted.place, CASE WHEN block.fingerprints IS NOT NULL
    THEN substr(block.fingerprints, block.at, 16) END
FROM unnest($1::uuid[], $2::integer[]) WITH ORDINALITY AS wanted (digest, part, place)
    CROSS JOIN LATERAL (SELECT b.fingerprints, position(uuid_send(wanted.digest) IN b.digests) AS at
        FROM {schema}.sealed_{ledger}_{generation} b
        WHERE b.part = wanted.part AND b.first_digest <= wanted.digest
        ORDER BY b.part DESC, b.first_digest DESC LIMIT 1) AS block
WHERE block.at > 0
