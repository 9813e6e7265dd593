SELECT known.digest, led.name, CASE WHEN known.state <> 'in_flight' THEN known.state
        WHEN known.lease_until <= clock_timestamp() THEN 'released' ELSE 'in_flight' END,
    known.attempts, known.claimed_at::text, known.lease_until::text, known.ended_at::text,
    feed.consumer_group, feed.topic, known.partition, known.record_offset, known.status,
    known.reason, known.fingerprint
FROM {schema}.leases known JOIN {schema}.ledgers led USING (ledger)
    LEFT JOIN {schema}.ledger_feeds feed ON feed.source = known.source
WHERE known.digest = ANY ($1::uuid[])
ORDER BY led.name
