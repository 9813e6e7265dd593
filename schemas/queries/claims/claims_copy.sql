-- For claims that are presumed new: costs the server less than half of claims_insert. It fails with
-- 23505 if one of them exists.
COPY {schema}.claims_{ledger}_{generation} (digest, fingerprint, record_offset, partition, source)
    FROM STDIN (FORMAT binary)
