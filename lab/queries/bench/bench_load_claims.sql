COPY {schema}.claims_{ledger}_{generation} (source, partitions, first_offsets, last_offsets,
    digests) FROM STDIN (FORMAT binary)
