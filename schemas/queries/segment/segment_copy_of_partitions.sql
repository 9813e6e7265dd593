COPY {schema}.sealed_{ledger}_{generation} (first_digest, digests, batches, fingerprints, part)
FROM STDIN (FORMAT binary)
