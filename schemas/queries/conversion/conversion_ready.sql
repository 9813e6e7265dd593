-- The segment of the generation is complete. The comment goes with its table.
DO $$
BEGIN
    DROP INDEX {schema}.batches_{ledger}_{generation}_of;
    COMMENT ON TABLE {schema}.batches_{ledger}_{generation} IS
        'segment: {claims} claims, {bits} bits, eviction {last_eviction}';
END
$$
