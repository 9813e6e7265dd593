-- What log_look reads, but in the statement of the lock: its snapshot is older than the lock.
WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock(1330524999, $1::integer))
SELECT l.log_floor, l.evictions, g.generation, batch.seq, batch.digests, batch.fingerprints,
    (SELECT min(o.generation) FROM {schema}.generations o WHERE o.ledger = l.ledger)
FROM held CROSS JOIN {schema}.ledgers l
    JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
    LEFT JOIN LATERAL (SELECT b.seq, b.digests, b.fingerprints
        FROM {schema}.claims_{ledger}_{generation} b WHERE b.seq > $2::bigint
        ORDER BY b.seq LIMIT $3::integer) AS batch ON true
WHERE l.ledger = $1::integer
ORDER BY batch.seq
