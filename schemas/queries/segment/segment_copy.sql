COPY {schema}.sealed_{ledger}_{generation} (first_digest, digests, batches, fingerprints)
FROM STDIN (FORMAT binary)
