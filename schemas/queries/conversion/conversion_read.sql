-- The claims of a `table` ledger's generation from one digest ($1) up to another ($2, null: to the
-- last one), in no order: digests, numbers of their batches counted from $3, and fingerprints if
-- any claim has one (zeros for a claim without). One row, so that the three lists have the same
-- order.
SELECT coalesce(string_agg(uuid_send(c.digest), ''), ''),
    coalesce(string_agg(int4send((b.seq - $3::bigint)::integer), ''), ''),
    CASE WHEN count(c.fingerprint) > 0 THEN string_agg(coalesce(uuid_send(c.fingerprint),
        '\x00000000000000000000000000000000'::bytea), '') END,
    count(*)
FROM {schema}.claims_{ledger}_{generation} c
    LEFT JOIN {schema}.batches_{ledger}_{generation} b ON b.claimed_at = c.claimed_at
        AND b.transaction = c.xmin::text::bigint AND b.source = c.source
WHERE c.digest >= $1::uuid AND ($2::uuid IS NULL OR c.digest < $2::uuid)
