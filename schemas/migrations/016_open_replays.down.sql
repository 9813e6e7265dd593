CREATE OR REPLACE FUNCTION {schema}.ledger_watermark(wanted_ledger integer) RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    -- DANGER: count(moment) passes over nulls and min() does too; a source without a watermark must
    -- not be passed over.
    SELECT CASE WHEN count(*) > 0 AND count(*) = count(moment) THEN min(moment) END
    FROM (
        SELECT f.watermark AS moment
        FROM {schema}.fences f JOIN {schema}.ledger_feeds s USING (consumer_group, topic)
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL AND f.retired_at IS NULL
        UNION ALL
        -- The list of partitions: never sampled, empty, or with a partition that has no fence yet,
        -- it holds all back.
        SELECT CASE WHEN s.longest_request IS NOT NULL THEN clock_timestamp() - s.longest_request
               WHEN s.partitions > 0 AND s.partitions = (
                   SELECT count(*) FROM {schema}.fences f
                   WHERE f.consumer_group = s.consumer_group AND f.topic = s.topic
                       AND f.partition < s.partitions)
               THEN s.watermark END
        FROM {schema}.ledger_feeds s
        WHERE s.ledger = wanted_ledger AND s.retired_at IS NULL
    ) AS watermarks
$$;
CREATE OR REPLACE FUNCTION {schema}.finish_replay(wanted bigint) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine record;
BEGIN
    SELECT consumer_group || ' replay ' || replay AS name, topic, ranges INTO mine
        FROM {schema}.replays WHERE replay = wanted AND finished_at IS NULL FOR UPDATE;
    -- Rows locked before they are looked at: a run that still goes on moves them.
    PERFORM FROM {schema}.fences WHERE consumer_group = mine.name ORDER BY partition FOR UPDATE;
    IF mine.name IS NULL OR EXISTS (
            SELECT FROM jsonb_to_recordset(mine.ranges) AS range (partition integer, "end" bigint)
                LEFT JOIN {schema}.fences f ON f.consumer_group = mine.name
                    AND f.topic = mine.topic AND f.partition = range.partition
            WHERE coalesce(f.next_offset < range."end", true)) THEN
        RETURN false;
    END IF;
    WITH gone AS (DELETE FROM {schema}.fences WHERE consumer_group = mine.name RETURNING *),
        total AS (SELECT coalesce(sum(applied), 0) AS applied,
            coalesce(sum(duplicates), 0) AS duplicates, coalesce(sum(conflicts), 0) AS conflicts,
            coalesce(sum(dead_lettered), 0) AS dead_lettered, coalesce(sum(skipped), 0) AS skipped
            FROM gone)
    UPDATE {schema}.replays r SET finished_at = now(), applied = total.applied,
        duplicates = total.duplicates, conflicts = total.conflicts,
        dead_lettered = total.dead_lettered, skipped = total.skipped
    FROM total WHERE r.replay = wanted;
    RETURN true;
END
$$;
DROP FUNCTION {schema}.end_replay(bigint);
ALTER TABLE {schema}.replays DROP COLUMN ended_by;
