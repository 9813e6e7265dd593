-- Writes the blocks of the open generation's segment, as block_rows() makes those of the others:
-- 400 digests fill a page. It is a DO block, since it is sent before its table exists.
DO $$
BEGIN
    INSERT INTO {schema}.sealed_{ledger}_{generation} (first_digest, digests, batches,
        fingerprints)
    SELECT (array_agg(digest ORDER BY digest))[1],
        string_agg(uuid_send(digest), '' ORDER BY digest),
        string_agg(int4send((seq - {first})::integer), '' ORDER BY digest),
        CASE WHEN count(fingerprint) > 0 THEN string_agg(coalesce(uuid_send(fingerprint),
            '\x00000000000000000000000000000000'::bytea), '' ORDER BY digest) END
    FROM (SELECT c.digest, c.fingerprint, b.seq, (row_number() OVER (ORDER BY c.digest) - 1) / 400
                AS block
        FROM {schema}.claims_{ledger}_{generation} c
            JOIN {schema}.batches_{ledger}_{generation} b ON b.claimed_at = c.claimed_at
                AND b.transaction = c.xmin::text::bigint AND b.source = c.source) AS claim
    GROUP BY block;
END
$$
