SELECT seq, digests, fingerprints FROM {schema}.claims_{ledger}_{generation}
WHERE seq > $1::bigint ORDER BY seq LIMIT $2::integer
