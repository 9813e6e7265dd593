-- Marks the segment of the generation as complete. The mark is a comment on a table, and is dropped
-- with it.
DO $$
BEGIN
    DROP INDEX {schema}.batches_{ledger}_{generation}_of;
    COMMENT ON TABLE {schema}.batches_{ledger}_{generation} IS
        'segment: {claims} claims, {bits} bits, eviction {last_eviction}';
END
$$
