-- Source 0: `onceward import`.
SELECT c.digest, c.claimed_at,
    CASE c.source WHEN 0 THEN 'onceward import' ELSE f.consumer_group END, f.topic, c.partition,
    c.record_offset, c.fingerprint
FROM {schema}.{table} c LEFT JOIN {schema}.ledger_feeds f USING (source)
WHERE c.digest = ANY ($1::uuid[])
