-- LATERAL with OFFSET 0 leaves the planner one plan: an index look-up for each digest. A join would
-- be planned while the generation is small, as one scan of all of it, and the session would keep
-- that plan while it grows.
SELECT wanted.place, claim.fingerprint
FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (digest, place)
    CROSS JOIN LATERAL (SELECT known.fingerprint FROM {schema}.claims_{ledger}_{generation} AS known
        WHERE known.digest = wanted.digest OFFSET 0) AS claim
