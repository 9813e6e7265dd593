SELECT dead_letter, partition, record_key, headers::text, payload, fingerprint::text,
    first_fingerprint::text, first_places::text
FROM {schema}.dead_letters WHERE dead_letter = ANY ($1::bigint[])
