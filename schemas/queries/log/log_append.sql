INSERT INTO {schema}.claims_{ledger}_{generation} (source, partitions, first_offsets, last_offsets,
    digests, fingerprints)
VALUES ($1::integer, $2::integer[], $3::bigint[], $4::bigint[], $5::bytea, $6::bytea)
RETURNING seq
