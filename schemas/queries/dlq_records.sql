SELECT dead_letter, partition, record_key, headers::text, payload
FROM {schema}.dead_letters WHERE dead_letter = ANY ($1::bigint[])
