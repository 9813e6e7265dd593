-- Records how effects ended. DANGER: owner_token is compared here, in the row: a stale owner
-- changes nothing. A key that is not returned was not mine.
-- DANGER: also lock the keys here that the transaction counts later ($9), all in one order. A claim
-- of the same keys locks them in that order too; otherwise they can deadlock.
WITH held AS MATERIALIZED (
    SELECT known.digest FROM {schema}.leases AS known
    WHERE known.ledger = $1::integer AND known.digest = ANY ($3::uuid[] || $9::uuid[])
    ORDER BY known.digest
    FOR UPDATE
)
UPDATE {schema}.leases AS known SET
    state = ended.state,
    ended_at = clock_timestamp(),
    counted = ended.counted = 1,
    status = nullif(ended.status, 0),
    reason = nullif(ended.reason, ''),
    result_kept = $8::boolean
FROM held JOIN unnest($3::uuid[], $4::text[], $5::integer[], $6::integer[], $7::text[])
    AS ended (digest, state, counted, status, reason) USING (digest)
WHERE known.ledger = $1::integer AND known.digest = held.digest
    AND known.owner_token = $2::uuid AND known.state = 'in_flight'
RETURNING known.digest
