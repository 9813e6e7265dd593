-- As lease_claim, for a request: it has no place in a log, and no fence. A row whose lease ended
-- without a result is taken over only if $7 says so: its effect may have happened. A freed one
-- (zeros) belongs to no owner.
INSERT INTO {schema}.leases AS known (ledger, digest, owner_token, lease_until, fingerprint, source,
    identity, partition, record_offset)
VALUES ($1::integer, $4::uuid, $2::uuid, clock_timestamp() + $3::bigint * interval '1 millisecond',
    ($5::uuid[])[1], $6::integer, 'request', 0, 0)
ON CONFLICT ON CONSTRAINT leases_key DO UPDATE SET
    owner_token = excluded.owner_token,
    lease_until = excluded.lease_until,
    attempts = known.attempts + 1,
    fingerprint = coalesce(excluded.fingerprint, known.fingerprint),
    source = excluded.source,
    identity = excluded.identity,
    partition = excluded.partition,
    record_offset = excluded.record_offset,
    claimed_at = excluded.claimed_at,
    state = 'in_flight',
    ended_at = NULL,
    counted = false,
    reason = NULL,
    taken_over = known.owner_token NOT IN (excluded.owner_token,
        '00000000-0000-0000-0000-000000000000')
-- DANGER: a key that ended with an owner keeps that owner's token, and must not be claimed.
WHERE (known.owner_token = '00000000-0000-0000-0000-000000000000'
        OR (known.state = 'in_flight' AND (known.owner_token = excluded.owner_token
            OR ($7::boolean AND known.lease_until <= clock_timestamp()))))
    AND (known.fingerprint = excluded.fingerprint) IS NOT FALSE
RETURNING known.attempts, known.taken_over::integer
