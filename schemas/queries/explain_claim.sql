SELECT c.digest, c.claimed_at, f.consumer_group, f.topic, c.partition, c.record_offset,
    c.fingerprint
FROM {schema}.{table} c LEFT JOIN {schema}.ledger_feeds f USING (source)
WHERE c.digest = ANY ($1::uuid[])
