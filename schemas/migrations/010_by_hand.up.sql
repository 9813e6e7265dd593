-- What an operator does to dead letters and claims by hand: sends letters again, discards them,
-- takes claims out, puts claims in. Each leaves a record of who did it, when and why.

-- A redrive marks its dead letters before it produces them and again when Kafka has them: what was
-- interrupted between the two is produced again, never lost.
ALTER TABLE {schema}.dead_letters
    ADD COLUMN redrive_began_at timestamptz,
    ADD COLUMN redriven_at timestamptz;
COMMENT ON COLUMN {schema}.dead_letters.redrive_began_at IS
    'Set, with resolved_at, before `onceward dlq redrive` produces it.';
COMMENT ON COLUMN {schema}.dead_letters.redriven_at IS
    'Set when Kafka has the copy; null behind redrive_began_at: it may have it, or not.';

CREATE TABLE {schema}.discarded_dead_letters (
    dead_letter bigint NOT NULL,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    identity text NOT NULL,
    partition integer NOT NULL,
    record_offset bigint NOT NULL,
    digest uuid,
    error_class text NOT NULL,
    sqlstate text NOT NULL,
    created_at timestamptz NOT NULL,
    redriven_at timestamptz,
    reason text NOT NULL,
    discarded_by text NOT NULL DEFAULT session_user,
    discarded_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT discarded_dead_letters_key PRIMARY KEY (dead_letter),
    CONSTRAINT discarded_dead_letters_reason_said CHECK (reason <> '')
);
COMMENT ON TABLE {schema}.discarded_dead_letters IS
    'What `onceward dlq discard` deleted, without payload, key and headers.';

-- Deletes dead letters and writes them down, as the schema's owner: no role needs a right to
-- delete, and none can do the one without the other.
CREATE FUNCTION {schema}.discard_dead_letters(wanted bigint[], why text) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    discarded bigint;
BEGIN
    WITH gone AS (
        DELETE FROM {schema}.dead_letters WHERE dead_letter = ANY (wanted) RETURNING *
    )
    INSERT INTO {schema}.discarded_dead_letters (dead_letter, consumer_group, topic, identity,
        partition, record_offset, digest, error_class, sqlstate, created_at, redriven_at, reason)
    SELECT dead_letter, consumer_group, topic, identity, partition, record_offset, digest,
        error_class, sqlstate, created_at, redriven_at, why
    FROM gone;
    GET DIAGNOSTICS discarded = ROW_COUNT;
    RETURN discarded;
END
$$;

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

-- Takes one digest out of one generation, in whatever form that is kept. How many rows held it.
-- Called with the ledger's lock held exclusively.
CREATE FUNCTION {schema}.take_out_claim(wanted_ledger integer, wanted_generation bigint,
    wanted uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    suffix text := format('%s_%s', wanted_ledger, wanted_generation);
    taken bigint := 0;
    in_parts boolean;
    of_parts integer[];  -- 0: of the whole
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
    -- The filter goes on saying 'perhaps', which is always asked of the block. With parts each of
    -- them may hold the key.
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

-- Takes claims out of a ledger and writes them down. Answers with the digests that were there.
CREATE FUNCTION {schema}.evict_claims(wanted_ledger integer, wanted uuid[], why text)
    RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held record;
    evicted bigint := 0;
BEGIN
    -- DANGER: exclusively, and before anything is read. Claims in flight hold it shared (a table's)
    -- or append under it (a log's), so that none is between its look and its commit.
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
    -- Whoever holds the log in memory sees another count and reads it anew.
    IF evicted > 0 THEN
        UPDATE {schema}.ledgers SET evictions = evictions + 1 WHERE ledger = wanted_ledger;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.discard_dead_letters(bigint[], text),
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
    'SHA-256, cut to 16 bytes, of the description: what is read, and as keys of what.';
COMMENT ON COLUMN {schema}.imports.position IS
    'Of a query the last key that was read, of a file the bytes; empty when it has finished.';

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
        IF entry.is_worker THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE ON {schema}.imports TO %s',
                entry.grantee);
            EXECUTE format('GRANT SELECT ON {schema}.evictions TO %s', entry.grantee);
        ELSE
            EXECUTE format('GRANT UPDATE (redrive_began_at, redriven_at) ON '
                '{schema}.dead_letters TO %s', entry.grantee);
            EXECUTE format('GRANT SELECT ON {schema}.discarded_dead_letters, '
                '{schema}.evictions, {schema}.imports TO %s', entry.grantee);
            EXECUTE format('GRANT EXECUTE ON FUNCTION '
                '{schema}.discard_dead_letters(bigint[], text), '
                '{schema}.evict_claims(integer, uuid[], text) TO %s', entry.grantee);
        END IF;
    END LOOP;
END
$$;
