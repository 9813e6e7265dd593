-- As log_look, but only for one partition ($5) of one source ($4). With `reach: partition` a batch
-- has a row for each of its partitions.
SELECT l.log_floor, l.evictions, g.generation, batch.seq, batch.digests, batch.fingerprints,
    (SELECT min(o.generation) FROM {schema}.generations o WHERE o.ledger = l.ledger)
FROM {schema}.ledgers l
    JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
    LEFT JOIN LATERAL (SELECT b.seq, b.digests, b.fingerprints
        FROM {schema}.claims_{ledger}_{generation} b
        WHERE b.seq > $2::bigint AND b.source = $4::integer AND $5::integer = ANY (b.partitions)
        ORDER BY b.seq LIMIT $3::integer) AS batch ON true
WHERE l.ledger = $1::integer
ORDER BY batch.seq
