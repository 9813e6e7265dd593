-- What a ledger's log has beyond `last` ($2): a row for each batch, at most $3, and one without a
-- batch if there is none.
SELECT l.log_floor, l.evictions, g.generation, batch.seq, batch.digests, batch.fingerprints,
    (SELECT min(o.generation) FROM {schema}.generations o WHERE o.ledger = l.ledger)
FROM {schema}.ledgers l
    JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
    LEFT JOIN LATERAL (SELECT b.seq, b.digests, b.fingerprints
        FROM {schema}.claims_{ledger}_{generation} b WHERE b.seq > $2::bigint
        ORDER BY b.seq LIMIT $3::integer) AS batch ON true
WHERE l.ledger = $1::integer
ORDER BY batch.seq
