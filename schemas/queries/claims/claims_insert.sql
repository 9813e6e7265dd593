INSERT INTO {schema}.claims_{ledger}_{generation} (digest, fingerprint, record_offset, partition,
    source)
SELECT digest, fingerprint, record_offset, partition, $5::integer
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::integer[])
    AS claim (digest, fingerprint, record_offset, partition)
ON CONFLICT DO NOTHING
RETURNING digest
