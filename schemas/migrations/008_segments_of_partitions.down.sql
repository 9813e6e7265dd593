-- A segment in parts cannot be read by what was before.
DO $$
BEGIN
    IF EXISTS (SELECT FROM {schema}.segments WHERE by_partition) THEN
        RAISE EXCEPTION 'there are segments of a ledger with reach: partition; drop it first'
            USING ERRCODE = 'object_in_use';
    END IF;
END
$$;
DROP FUNCTION {schema}.publish_segment_of_partitions(integer, bigint, bigint, integer[], integer[],
    bigint[], integer[], integer[]);
DROP FUNCTION {schema}.begin_segment_of_partitions(integer, bigint);
DROP TABLE {schema}.segment_parts;
ALTER TABLE {schema}.segments DROP COLUMN by_partition;
