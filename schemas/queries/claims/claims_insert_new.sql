-- Claims keys that are presumed to be new. It fails if one of them is claimed (23505), and if
-- another generation is open by now: then the claims have no digest (23502).
INSERT INTO {schema}.claims_{ledger}_{generation} (digest, fingerprint, record_offset, partition,
    source)
SELECT CASE WHEN EXISTS (SELECT FROM {schema}.generations
        WHERE ledger = {ledger} AND generation = {generation} AND sealed_at IS NULL)
        THEN claim.digest END,
    claim.fingerprint, claim.record_offset, claim.partition, $5::integer
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::integer[])
    AS claim (digest, fingerprint, record_offset, partition)
