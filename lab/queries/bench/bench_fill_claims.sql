INSERT INTO {schema}.claims_{ledger}_{generation} (digest, record_offset, partition, source)
SELECT gen_random_uuid(), number, 0, $1::integer FROM generate_series(1, $2::bigint) AS number
