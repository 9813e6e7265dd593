-- Lets go of a request's key: zeros make it anybody's. It has ended all the same, so that it goes
-- with the retention where its client never comes again.
UPDATE {schema}.leases SET
    owner_token = '00000000-0000-0000-0000-000000000000',
    lease_until = least(lease_until, clock_timestamp()),
    state = 'failed',
    ended_at = clock_timestamp(),
    counted = true,
    reason = 'let go: the next request with the key is carried out'
WHERE ledger = $1::integer AND digest = $3::uuid AND owner_token = $2::uuid AND state = 'in_flight'
