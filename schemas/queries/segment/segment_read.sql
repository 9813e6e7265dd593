SELECT seq, digests, fingerprints, source, partitions[1] FROM {schema}.claims_{ledger}_{generation}
WHERE seq > $1::bigint ORDER BY seq LIMIT $2::integer
