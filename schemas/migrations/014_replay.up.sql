-- What `onceward replay` has read again, who said so and why. How far one is stands in fences of
-- its own, under a group's name that no Kafka group has: its transactions move them, as a worker's.
CREATE TABLE {schema}.replays (
    replay bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    description text NOT NULL,
    without_dedup boolean NOT NULL,
    ranges jsonb NOT NULL,
    reason text NOT NULL,
    started_by text NOT NULL DEFAULT session_user,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    applied bigint NOT NULL DEFAULT 0,
    duplicates bigint NOT NULL DEFAULT 0,
    conflicts bigint NOT NULL DEFAULT 0,
    dead_lettered bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    CONSTRAINT replays_key PRIMARY KEY (replay),
    CONSTRAINT replays_reason_said CHECK (reason <> '')
);
CREATE UNIQUE INDEX replays_one_open ON {schema}.replays (consumer_group, topic, description)
    WHERE finished_at IS NULL;
COMMENT ON COLUMN {schema}.replays.description IS 'What was asked for; names it, to go on with it.';
COMMENT ON COLUMN {schema}.replays.ranges IS
    '[{"partition", "begin", "end"}]: the offsets that this was when it began; end is exclusive.';
COMMENT ON COLUMN {schema}.replays.applied IS
    'As the others: what became of the messages, once it has finished; until then in its fences.';

-- Ends a replay that has read all of its ranges, with what became of the messages, and takes its
-- fences away. False where it is not there, or not at its end.
CREATE FUNCTION {schema}.finish_replay(wanted bigint) RETURNS boolean
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
REVOKE EXECUTE ON FUNCTION {schema}.finish_replay(bigint) FROM PUBLIC;

-- Whoever may write dead letters is a worker's role, whoever may end a pause an operator's: an
-- upgrade needs no new grants.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee,
            a.privilege_type = 'INSERT' AS is_worker
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE a.grantee <> c.relowner
            AND (c.oid, a.privilege_type) IN (('{schema}.dead_letters'::regclass, 'INSERT'),
                ('{schema}.topic_pauses'::regclass, 'UPDATE'))
    LOOP
        EXECUTE format('GRANT SELECT ON {schema}.replays TO %s', entry.grantee);
        IF entry.is_worker THEN
            EXECUTE format('GRANT INSERT ON {schema}.replays TO %s', entry.grantee);
            EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.finish_replay(bigint) TO %s',
                entry.grantee);
        END IF;
    END LOOP;
END
$$;
