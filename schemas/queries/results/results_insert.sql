-- Skips a key whose result another transaction has just stored: then the claim belongs to that
-- transaction too, and this one is rolled back.
INSERT INTO {schema}.results_{ledger}_{generation} (digest, attempt, tenant, kind, status, headers,
    body)
SELECT digest, attempt, tenant, kind, status, headers::jsonb, body
FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::text[], $5::integer[], $6::text[], $7::bytea[])
    AS result (digest, attempt, tenant, kind, status, headers, body)
ON CONFLICT DO NOTHING
