-- The statement of the workers' store `table` for a batch that has duplicates.
BEGIN;
INSERT INTO hand_claims (digest, fingerprint, record_offset, partition, source)
    SELECT digest, fingerprint, record_offset, partition, 1
    FROM unnest(ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 2000)), NULL::uuid[],
        ARRAY(SELECT generate_series(1, 2000)::bigint),
        ARRAY(SELECT 0 FROM generate_series(1, 2000)))
        AS claim (digest, fingerprint, record_offset, partition)
    ON CONFLICT DO NOTHING RETURNING digest;
COMMIT;
