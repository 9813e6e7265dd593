-- Makes the tables of the segment that a sealed generation of a `table` ledger becomes, and writes
-- its batches. Tables that an earlier try left are dropped first. A batch is what one transaction
-- claimed from one source; batches are numbered from {first} on. While the ledger's store is
-- `table` nobody reads these tables. They have the names of a segment, so that they are dropped
-- with their generation if it expires first. The index is for reading the claims, and is dropped
-- when that is done.
DO $$
DECLARE
    part text;
BEGIN
    DROP TABLE IF EXISTS {schema}.sealed_{ledger}_{generation},
        {schema}.filters_{ledger}_{generation}, {schema}.batches_{ledger}_{generation};
    CREATE TABLE {schema}.sealed_{ledger}_{generation} (
        LIKE {schema}.segment_blocks INCLUDING STORAGE,
        CONSTRAINT sealed_{ledger}_{generation}_key PRIMARY KEY (first_digest))
        WITH (toast_tuple_target = 8160);
    CREATE TABLE {schema}.filters_{ledger}_{generation} (
        LIKE {schema}.segment_filters INCLUDING STORAGE,
        CONSTRAINT filters_{ledger}_{generation}_key PRIMARY KEY (shard));
    CREATE TABLE {schema}.batches_{ledger}_{generation} (
        LIKE {schema}.segment_batches,
        CONSTRAINT batches_{ledger}_{generation}_key PRIMARY KEY (seq));
    INSERT INTO {schema}.batches_{ledger}_{generation} (seq, source, claimed_at, transaction,
        partitions, first_offsets, last_offsets)
    SELECT {first} - 1 + row_number() OVER (ORDER BY claimed_at, transaction, source), source,
        claimed_at, transaction, array_agg(partition ORDER BY partition),
        array_agg(first_offset ORDER BY partition), array_agg(last_offset ORDER BY partition)
    FROM (SELECT c.claimed_at, c.xmin::text::bigint AS transaction, c.source, c.partition,
            min(c.record_offset) AS first_offset, max(c.record_offset) AS last_offset
        FROM {schema}.claims_{ledger}_{generation} c
        GROUP BY c.claimed_at, c.xmin::text::bigint, c.source, c.partition) AS place
    GROUP BY claimed_at, transaction, source;
    CREATE INDEX batches_{ledger}_{generation}_of
        ON {schema}.batches_{ledger}_{generation} (claimed_at, transaction, source);
    ANALYZE {schema}.batches_{ledger}_{generation};
    FOREACH part IN ARRAY ARRAY['sealed', 'filters', 'batches'] LOOP
        PERFORM {schema}.grant_as_claims(
            format('{schema}.%s_%s_%s', part, {ledger}, {generation}));
    END LOOP;
END
$$
