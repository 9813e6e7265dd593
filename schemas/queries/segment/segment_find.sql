-- Which of these digests the segment really holds, and their fingerprints. The chance of finding a
-- digest at a place that is not a multiple of 16 is 2^-128.
SELECT wanted.place, CASE WHEN block.fingerprints IS NOT NULL
    THEN substr(block.fingerprints, block.at, 16) END
FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (digest, place)
    CROSS JOIN LATERAL (SELECT b.fingerprints, position(uuid_send(wanted.digest) IN b.digests) AS at
        FROM {schema}.sealed_{ledger}_{generation} b WHERE b.first_digest <= wanted.digest
        ORDER BY b.first_digest DESC LIMIT 1) AS block
WHERE block.at > 0
