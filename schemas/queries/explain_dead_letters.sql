SELECT digest, created_at, consumer_group, topic, partition, record_offset, error_class, sqlstate,
    reason, fingerprint, first_fingerprint, first_places
FROM {schema}.dead_letters
WHERE topic = $3 AND (digest = ANY ($1::uuid[]) OR key_text = $2)
ORDER BY dead_letter DESC
LIMIT 100
