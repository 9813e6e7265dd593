-- A segment's blocks in their order: from the one that may hold the digest $1 up to $2, exclusive,
-- or to the last one if that is null.
SELECT digests, batches, fingerprints
FROM {schema}.sealed_{ledger}_{generation}
WHERE first_digest >= coalesce((SELECT b.first_digest
        FROM {schema}.sealed_{ledger}_{generation} b WHERE b.first_digest <= $1::uuid
        ORDER BY b.first_digest DESC LIMIT 1), $1::uuid)
    AND ($2::uuid IS NULL OR first_digest < $2::uuid)
ORDER BY first_digest
