-- Releases a request's key: with zeros any request may claim it. It counts as ended, so that it
-- expires with the retention if its client never repeats the request.
UPDATE {schema}.leases SET
    owner_token = '00000000-0000-0000-0000-000000000000',
    lease_until = least(lease_until, clock_timestamp()),
    state = 'failed',
    ended_at = clock_timestamp(),
    counted = true,
    reason = 'let go: the next request with the key is carried out'
WHERE ledger = $1::integer AND digest = $3::uuid AND owner_token = $2::uuid AND state = 'in_flight'
