-- What the checker wants to know of every transaction, written by triggers in the transaction
-- itself. Installed by the schema's owner before the first worker starts. The functions run as
-- their owner, so that workers need no more rights than users give them.

CREATE TABLE {schema}.checker_fence_moves (
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    session integer NOT NULL,
    old_owner text NOT NULL,
    new_owner text NOT NULL,
    old_epoch bigint NOT NULL,
    new_epoch bigint NOT NULL,
    old_next bigint NOT NULL,
    new_next bigint NOT NULL,
    applied bigint NOT NULL,
    duplicates bigint NOT NULL,
    conflicts bigint NOT NULL,
    dead_lettered bigint NOT NULL,
    skipped bigint NOT NULL,
    by_operator boolean NOT NULL,
    at timestamptz NOT NULL
);

CREATE TABLE {schema}.checker_generation_drops (
    ledger integer NOT NULL,
    generation bigint NOT NULL,
    sealed_at timestamptz NOT NULL,
    dropped_at timestamptz NOT NULL,
    -- [[consumer_group, topic, partition, next_offset], ...]
    fences jsonb NOT NULL
);

-- Rows of dead letters are changed later, by redrives and rewinds; this is who made them.
CREATE TABLE {schema}.checker_dead_letters (
    dead_letter bigint NOT NULL,
    transaction xid8 NOT NULL
);

CREATE TABLE {schema}.checker_lease_moves (
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    ledger integer NOT NULL,
    digest uuid NOT NULL,
    session integer NOT NULL,
    worker text NOT NULL,
    claimed boolean NOT NULL,
    old_owner uuid,
    new_owner uuid NOT NULL,
    old_state text NOT NULL,
    new_state text NOT NULL,
    old_until timestamptz NOT NULL,
    new_until timestamptz NOT NULL,
    at timestamptz NOT NULL
);

-- The fence's row is locked while its move is written, so that the order of `sequence` is the order
-- of commits for one partition.
CREATE FUNCTION {schema}.checker_note_fence() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO {schema}.checker_fence_moves (consumer_group, topic, partition, session,
            old_owner, new_owner, old_epoch, new_epoch, old_next, new_next, applied, duplicates,
            conflicts, dead_lettered, skipped, by_operator, at)
        VALUES (NEW.consumer_group, NEW.topic, NEW.partition, pg_backend_pid(),
            '', NEW.owner, NEW.epoch, NEW.epoch, NEW.next_offset, NEW.next_offset, NEW.applied,
            NEW.duplicates, NEW.conflicts, NEW.dead_lettered, NEW.skipped,
            current_setting('application_name') ~ '^onceward (offsets|groups)',
            clock_timestamp());
    ELSE
        INSERT INTO {schema}.checker_fence_moves (consumer_group, topic, partition, session,
            old_owner, new_owner, old_epoch, new_epoch, old_next, new_next, applied, duplicates,
            conflicts, dead_lettered, skipped, by_operator, at)
        VALUES (NEW.consumer_group, NEW.topic, NEW.partition, pg_backend_pid(),
            OLD.owner, NEW.owner, OLD.epoch, NEW.epoch, OLD.next_offset, NEW.next_offset,
            NEW.applied - OLD.applied, NEW.duplicates - OLD.duplicates,
            NEW.conflicts - OLD.conflicts, NEW.dead_lettered - OLD.dead_lettered,
            NEW.skipped - OLD.skipped,
            current_setting('application_name') ~ '^onceward (offsets|groups)',
            clock_timestamp());
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER checker_fence_made AFTER INSERT ON {schema}.fences
    FOR EACH ROW EXECUTE FUNCTION {schema}.checker_note_fence();
CREATE TRIGGER checker_fence_moved AFTER UPDATE ON {schema}.fences
    FOR EACH ROW WHEN ((OLD.owner, OLD.epoch, OLD.next_offset, OLD.applied, OLD.duplicates,
            OLD.conflicts, OLD.dead_lettered, OLD.skipped)
        IS DISTINCT FROM (NEW.owner, NEW.epoch, NEW.next_offset, NEW.applied, NEW.duplicates,
            NEW.conflicts, NEW.dead_lettered, NEW.skipped))
    EXECUTE FUNCTION {schema}.checker_note_fence();

CREATE FUNCTION {schema}.checker_note_drop() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- A merge deletes the rows of the generations that it puts into another. Their claims have to
    -- be there, which the checker reads.
    IF EXISTS (SELECT FROM {schema}.segments AS s WHERE s.ledger = OLD.ledger
            AND s.generation < OLD.generation AND s.last_generation >= OLD.generation) THEN
        RETURN NULL;
    END IF;
    INSERT INTO {schema}.checker_generation_drops (ledger, generation, sealed_at, dropped_at,
        fences)
    SELECT OLD.ledger, OLD.generation, OLD.sealed_at, clock_timestamp(),
        coalesce(jsonb_agg(jsonb_build_array(f.consumer_group, f.topic, f.partition,
            f.next_offset)), '[]')
    FROM {schema}.fences AS f;
    RETURN NULL;
END
$$;

CREATE TRIGGER checker_generation_dropped AFTER DELETE ON {schema}.generations
    FOR EACH ROW EXECUTE FUNCTION {schema}.checker_note_drop();

-- As of a fence: the row is locked. Of one that is made there is no OLD; only a claim sets the time
-- of the claim.
CREATE FUNCTION {schema}.checker_note_lease() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {schema}.checker_lease_moves (ledger, digest, session, worker, claimed, old_owner,
        new_owner, old_state, new_state, old_until, new_until, at)
    VALUES (NEW.ledger, NEW.digest, pg_backend_pid(), current_setting('application_name'),
        NEW.claimed_at IS DISTINCT FROM OLD.claimed_at, OLD.owner_token, NEW.owner_token,
        coalesce(OLD.state, 'in_flight'), NEW.state, coalesce(OLD.lease_until, NEW.lease_until),
        NEW.lease_until, clock_timestamp());
    RETURN NULL;
END
$$;

CREATE TRIGGER checker_lease_made AFTER INSERT ON {schema}.leases
    FOR EACH ROW EXECUTE FUNCTION {schema}.checker_note_lease();
CREATE TRIGGER checker_lease_moved AFTER UPDATE ON {schema}.leases
    FOR EACH ROW WHEN ((OLD.owner_token, OLD.state, OLD.lease_until, OLD.attempts, OLD.claimed_at)
        IS DISTINCT FROM (NEW.owner_token, NEW.state, NEW.lease_until, NEW.attempts,
            NEW.claimed_at))
    EXECUTE FUNCTION {schema}.checker_note_lease();

CREATE FUNCTION {schema}.checker_note_dead_letter() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {schema}.checker_dead_letters VALUES (NEW.dead_letter, pg_current_xact_id());
    RETURN NULL;
END
$$;

CREATE TRIGGER checker_dead_letter_made AFTER INSERT ON {schema}.dead_letters
    FOR EACH ROW EXECUTE FUNCTION {schema}.checker_note_dead_letter();
