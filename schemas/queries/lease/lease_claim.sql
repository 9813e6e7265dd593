-- Claims keys for an effect outside of this server: rows that are new, rows whose lease has ended,
-- rows that are mine already, and rows that were released (zeros). A key that is not returned
-- belongs to another owner, has ended or is in conflict. Its row is locked too, so that it does not
-- change before the next statement reads it.
INSERT INTO {schema}.leases AS known (ledger, digest, owner_token, lease_until, fingerprint, source,
    identity, partition, record_offset)
SELECT $1::integer, wanted.digest, $2::uuid,
    clock_timestamp() + $3::bigint * interval '1 millisecond', wanted.fingerprint, $4::integer,
    -- Null if there is no fence, and the statement fails: see insert_dead_letters.
    coalesce(nullif(fence.topic_id, ''), fence.incarnation::text), wanted.partition,
    wanted.record_offset
FROM unnest($7::uuid[], $8::uuid[], $9::integer[], $10::bigint[])
    AS wanted (digest, fingerprint, partition, record_offset)
    LEFT JOIN {schema}.fences AS fence ON fence.consumer_group = $5 AND fence.topic = $6
        AND fence.partition = wanted.partition
-- DANGER: every worker locks the keys in the same order, or two of them can deadlock.
ORDER BY wanted.digest
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
-- DANGER: a route or an inbox of the same ledger leaves a released key as failed. If it were not
-- claimed here, its next message would be dropped as a duplicate of a failure.
WHERE (known.owner_token = '00000000-0000-0000-0000-000000000000'
        OR (known.state = 'in_flight' AND (known.owner_token = excluded.owner_token
            OR known.lease_until <= clock_timestamp())))
    -- A message is never in conflict with its own first try, which another version, or another
    -- `fingerprint` in the configuration, may have made.
    AND ((known.fingerprint = excluded.fingerprint) IS NOT FALSE
        OR (known.source, known.identity, known.partition, known.record_offset)
            = (excluded.source, excluded.identity, excluded.partition, excluded.record_offset))
RETURNING known.digest, known.attempts, known.taken_over::integer
