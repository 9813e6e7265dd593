-- Extends the leases that are mine, and records further tries before they are made. A key that is
-- not returned is no longer mine.
WITH mine AS MATERIALIZED (
    SELECT known.digest FROM {schema}.leases AS known
    WHERE known.ledger = $1::integer AND known.digest = ANY ($4::uuid[])
        AND known.owner_token = $2::uuid AND known.state = 'in_flight'
    ORDER BY known.digest
    FOR UPDATE
)
UPDATE {schema}.leases AS known SET
    lease_until = clock_timestamp() + $3::bigint * interval '1 millisecond',
    attempts = known.attempts + further.tries
FROM mine JOIN unnest($4::uuid[], $5::integer[]) AS further (digest, tries) USING (digest)
WHERE known.ledger = $1::integer AND known.digest = mine.digest AND known.owner_token = $2::uuid
RETURNING known.digest
