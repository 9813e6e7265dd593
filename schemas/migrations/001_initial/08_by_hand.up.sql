-- What operators do by hand: they pause topics, take claims out, put claims in and read messages
-- again. Each act leaves a record of who did it, when and why.

-- Topics that an operator has paused for a whole group. Workers read this every second and never
-- write it; a pause that has ended stays, as a record.
CREATE TABLE {schema}.topic_pauses (
    topic_pause bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    reason text NOT NULL,
    paused_by text NOT NULL DEFAULT session_user,
    paused_at timestamptz NOT NULL DEFAULT now(),
    resumed_by text,
    resumed_at timestamptz,
    CONSTRAINT topic_pauses_key PRIMARY KEY (topic_pause)
);
CREATE UNIQUE INDEX topic_pauses_one_open ON {schema}.topic_pauses (consumer_group, topic)
    WHERE resumed_at IS NULL;

CREATE TABLE {schema}.evictions (
    eviction bigint GENERATED ALWAYS AS IDENTITY,
    ledger integer NOT NULL,
    generation bigint NOT NULL,
    digest uuid NOT NULL,
    reason text NOT NULL,
    evicted_by text NOT NULL DEFAULT session_user,
    evicted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT evictions_key PRIMARY KEY (eviction),
    CONSTRAINT evictions_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger),
    CONSTRAINT evictions_reason_said CHECK (reason <> '')
);
COMMENT ON TABLE {schema}.evictions IS 'Claims that `onceward forget` took out.';

-- The result goes with a claim that is taken out: the key's next message has another one.
CREATE FUNCTION {schema}.result_of_evicted_claim() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text := format('%s_%s', NEW.ledger, NEW.generation);
BEGIN
    IF to_regclass('{schema}.results_' || suffix) IS NOT NULL THEN
        EXECUTE format('DELETE FROM {schema}.results_%s WHERE digest = $1', suffix)
            USING NEW.digest;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER evictions_result AFTER INSERT ON {schema}.evictions
    FOR EACH ROW EXECUTE FUNCTION {schema}.result_of_evicted_claim();

-- Takes one digest out of one generation, in whatever form that is kept. Returns how many rows held
-- it. Called with the ledger's lock held exclusively.
CREATE FUNCTION {schema}.take_out_claim(wanted_ledger integer, wanted_generation bigint,
    wanted uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text := format('%s_%s', wanted_ledger, wanted_generation);
    taken bigint := 0;
    in_parts boolean;
    of_parts integer[];  -- 0: the whole segment
BEGIN
    IF to_regclass('{schema}.claims_' || suffix) IS NOT NULL THEN
        IF (SELECT store = 'log' FROM {schema}.ledgers WHERE ledger = wanted_ledger) THEN
            -- The row stays, also without a digest: the log's numbers must not seem to go back.
            EXECUTE format($sql$
                UPDATE {schema}.claims_%1$s AS batch SET
                    digests = overlay(batch.digests PLACING ''::bytea FROM place.at FOR 16),
                    fingerprints =
                        overlay(batch.fingerprints PLACING ''::bytea FROM place.at FOR 16)
                FROM (SELECT b.seq, position(uuid_send($1) IN b.digests) AS at
                    FROM {schema}.claims_%1$s AS b) AS place
                WHERE place.seq = batch.seq AND place.at %% 16 = 1 $sql$, suffix) USING wanted;
        ELSE
            EXECUTE format('DELETE FROM {schema}.claims_%s WHERE digest = $1', suffix)
                USING wanted;
        END IF;
        GET DIAGNOSTICS taken = ROW_COUNT;
    END IF;
    SELECT s.by_partition INTO in_parts FROM {schema}.segments s
        WHERE s.ledger = wanted_ledger AND s.generation = wanted_generation;
    IF NOT FOUND THEN
        RETURN taken;
    END IF;
    -- The filter still says 'perhaps', and then the block decides. If there are parts, each of them
    -- may hold the key.
    EXECUTE format($sql$
        WITH block AS (
            UPDATE {schema}.sealed_%1$s AS block SET
                digests = overlay(block.digests PLACING ''::bytea FROM place.at FOR 16),
                batches = overlay(block.batches PLACING ''::bytea
                    FROM (place.at - 1) / 4 + 1 FOR 4),
                fingerprints = overlay(block.fingerprints PLACING ''::bytea FROM place.at FOR 16)
            FROM %2$s AS place
            WHERE place.tuple = block.ctid AND place.at %% 16 = 1
            RETURNING place.part)
        SELECT coalesce(array_agg(part), '{}') FROM block $sql$, suffix,
        CASE WHEN in_parts THEN format($sql$
            (SELECT p.part, found.* FROM {schema}.segment_parts p
                CROSS JOIN LATERAL (SELECT b.ctid AS tuple,
                        position(uuid_send($1) IN b.digests) AS at
                    FROM {schema}.sealed_%1$s b WHERE b.part = p.part AND b.first_digest <= $1
                    ORDER BY b.part DESC, b.first_digest DESC LIMIT 1) AS found
                WHERE p.ledger = $2 AND p.generation = $3) $sql$, suffix)
        ELSE format($sql$
            (SELECT 0 AS part, b.ctid AS tuple, position(uuid_send($1) IN b.digests) AS at
                FROM {schema}.sealed_%1$s b WHERE b.first_digest <= $1
                ORDER BY b.first_digest DESC LIMIT 1) $sql$, suffix) END)
        INTO of_parts USING wanted, wanted_ledger, wanted_generation;
    UPDATE {schema}.segments SET claims = claims - cardinality(of_parts)
        WHERE ledger = wanted_ledger AND generation = wanted_generation;
    UPDATE {schema}.segment_parts SET claims = claims - 1
        WHERE ledger = wanted_ledger AND generation = wanted_generation AND part = ANY (of_parts);
    RETURN greatest(taken, cardinality(of_parts));
END
$$;

-- Takes claims out of a ledger and records them. Returns the digests that were there.
CREATE FUNCTION {schema}.evict_claims(wanted_ledger integer, wanted uuid[], why text)
    RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held record;
    evicted bigint := 0;
BEGIN
    -- DANGER: exclusively, and before anything is read. Claims in flight hold it shared (a table's)
    -- or append under it (a log's), so that none is between its reading and its commit.
    PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);
    FOR held IN
        SELECT g.generation AS in_generation, key.digest AS of_digest
        FROM {schema}.generations g CROSS JOIN unnest(wanted) AS key (digest)
        WHERE g.ledger = wanted_ledger ORDER BY g.generation
    LOOP
        IF {schema}.take_out_claim(wanted_ledger, held.in_generation, held.of_digest) > 0 THEN
            INSERT INTO {schema}.evictions (ledger, generation, digest, reason)
                VALUES (wanted_ledger, held.in_generation, held.of_digest, why);
            evicted := evicted + 1;
            RETURN NEXT held.of_digest;
        END IF;
    END LOOP;
    -- A process that holds the log in memory sees another count and reads it again.
    IF evicted > 0 THEN
        UPDATE {schema}.ledgers SET evictions = evictions + 1 WHERE ledger = wanted_ledger;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.result_of_evicted_claim(),
    {schema}.take_out_claim(integer, bigint, uuid),
    {schema}.evict_claims(integer, uuid[], text) FROM PUBLIC;

-- How far `onceward import` came. A chain as the fences are: a transaction moves `position` only
-- from where its reading began.
CREATE TABLE {schema}.imports (
    import bigint GENERATED ALWAYS AS IDENTITY,
    ledger integer NOT NULL,
    origin uuid NOT NULL,
    description text NOT NULL,
    position text NOT NULL DEFAULT '',
    claimed bigint NOT NULL DEFAULT 0,
    known bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    started_by text NOT NULL DEFAULT session_user,
    started_at timestamptz NOT NULL DEFAULT now(),
    moved_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    CONSTRAINT imports_key PRIMARY KEY (import),
    CONSTRAINT imports_origin_once UNIQUE (ledger, origin),
    CONSTRAINT imports_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger)
);
COMMENT ON COLUMN {schema}.imports.origin IS
    'The first 16 bytes of the description''s SHA-256: what is read, and as keys of what.';
COMMENT ON COLUMN {schema}.imports.position IS
    'For a query the last key that was read, for a file the bytes; empty when it has finished.';

-- What `onceward replay` has read again, which role asked for it, and why. How far a replay has
-- come is in fences of its own, under a group's name that no Kafka group has: its transactions move
-- them as a worker's do. A replay that is open reads messages of long ago, whatever the group's
-- fences have passed: until it ends, the claims that its messages meet stay.
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
    ended_by text,
    CONSTRAINT replays_key PRIMARY KEY (replay),
    CONSTRAINT replays_reason_said CHECK (reason <> '')
);
CREATE UNIQUE INDEX replays_one_open ON {schema}.replays (consumer_group, topic, description)
    WHERE finished_at IS NULL;
COMMENT ON COLUMN {schema}.replays.description IS
    'What was asked for; the same request continues it.';
COMMENT ON COLUMN {schema}.replays.ranges IS
    '[{"partition", "begin", "end"}]: the offsets, as of the beginning; end is exclusive.';
COMMENT ON COLUMN {schema}.replays.applied IS
    'Like the other counts: set when the replay has finished; until then its fences have them.';
COMMENT ON COLUMN {schema}.replays.ended_by IS
    'Who ended it before it had read everything (`onceward groups retire`); else null.';

-- Ends a replay that has read all of its ranges, or that an operator has ended, with what became of
-- the messages, and deletes its fences. Returns false if it is not there, or not at its end.
CREATE FUNCTION {schema}.finish_replay(wanted bigint) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine record;
BEGIN
    SELECT consumer_group || ' replay ' || replay AS name, topic, ranges, ended_by INTO mine
        FROM {schema}.replays WHERE replay = wanted AND finished_at IS NULL FOR UPDATE;
    -- Lock the rows before they are read: a run that still goes on moves them.
    PERFORM FROM {schema}.fences WHERE consumer_group = mine.name ORDER BY partition FOR UPDATE;
    IF mine.name IS NULL OR mine.ended_by IS NULL AND EXISTS (
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

-- Ends a replay where it stands, and records who did. A run that still goes on finds its fences
-- gone and rolls back.
CREATE FUNCTION {schema}.end_replay(wanted bigint) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE {schema}.replays SET ended_by = session_user
        WHERE replay = wanted AND finished_at IS NULL;
    RETURN {schema}.finish_replay(wanted);
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.finish_replay(bigint), {schema}.end_replay(bigint) FROM PUBLIC;
