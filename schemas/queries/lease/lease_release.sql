-- Releases my keys before their end: the next owner takes them over at once. Tries that were
-- recorded and never made are taken back.
WITH mine AS MATERIALIZED (
    SELECT known.digest FROM {schema}.leases AS known
    WHERE known.ledger = $1::integer AND known.digest = ANY ($3::uuid[])
        AND known.owner_token = $2::uuid AND known.state = 'in_flight'
    ORDER BY known.digest
    FOR UPDATE
)
UPDATE {schema}.leases AS known SET
    owner_token = '00000000-0000-0000-0000-000000000000',
    lease_until = least(known.lease_until, clock_timestamp()),
    attempts = known.attempts - unmade.tries
FROM mine JOIN unnest($3::uuid[], $4::integer[]) AS unmade (digest, tries) USING (digest)
WHERE known.ledger = $1::integer AND known.digest = mine.digest AND known.owner_token = $2::uuid
