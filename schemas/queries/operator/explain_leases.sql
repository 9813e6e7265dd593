-- A request's key that was released has ended with an owner of zeros. If a lease has ended without
-- a result, a message is tried again, but a request's key may stay as it is until somebody checks
-- it.
SELECT known.digest, led.name,
    CASE WHEN known.state = 'in_flight' AND known.lease_until > clock_timestamp() THEN 'in_flight'
        WHEN known.owner_token = '00000000-0000-0000-0000-000000000000' THEN 'released'
        WHEN known.state <> 'in_flight' THEN known.state
        WHEN known.identity = 'request' THEN 'unanswered' ELSE 'released' END,
    known.attempts, known.claimed_at::text, known.lease_until::text, known.ended_at::text,
    feed.consumer_group, feed.topic, known.partition, known.record_offset, known.status,
    known.reason, known.fingerprint
FROM {schema}.ledgers led CROSS JOIN unnest($1::uuid[]) AS wanted (digest)
    JOIN {schema}.leases known ON known.ledger = led.ledger AND known.digest = wanted.digest
    LEFT JOIN {schema}.ledger_feeds feed ON feed.source = known.source
WHERE led.store = 'lease'
ORDER BY led.name
