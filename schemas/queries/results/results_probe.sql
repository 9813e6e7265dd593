-- As claims_probe: a look-up by index for each digest, whatever the generation's size.
SELECT wanted.place, {generation}::bigint, result.kind, result.status, result.headers::text,
    result.body, result.attempt
FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (digest, place)
    CROSS JOIN LATERAL (SELECT * FROM {schema}.results_{ledger}_{generation} AS known
        WHERE known.digest = wanted.digest OFFSET 0) AS result
