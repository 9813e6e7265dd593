-- For claims that are presumed new: less than half of what claims_insert costs the server. It
-- fails with 23505 where one of them is there.
COPY {schema}.claims_{ledger}_{generation} (digest, fingerprint, record_offset, partition, source)
    FROM STDIN (FORMAT binary)
