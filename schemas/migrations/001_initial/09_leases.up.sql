-- Ledgers with `store: lease`, for effects outside of PostgreSQL: a key is claimed in one
-- transaction, the effect runs, and a later transaction records how it ended. Rows are updated in
-- place, so they are in no generation.
CREATE TABLE {schema}.leases (
    ledger integer NOT NULL,
    digest uuid NOT NULL,
    state text NOT NULL DEFAULT 'in_flight',
    owner_token uuid NOT NULL,
    lease_until timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 1,
    fingerprint uuid,
    source integer NOT NULL,
    identity text NOT NULL,
    partition integer NOT NULL,
    record_offset bigint NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_over boolean NOT NULL DEFAULT false,
    ended_at timestamptz,
    counted boolean NOT NULL DEFAULT false,
    status integer,
    reason text,
    result_kept boolean NOT NULL DEFAULT false,
    CONSTRAINT leases_key PRIMARY KEY (ledger, digest),
    CONSTRAINT leases_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger),
    CONSTRAINT leases_state_known CHECK (state IN ('in_flight', 'done', 'failed')),
    CONSTRAINT leases_end_known CHECK ((state = 'in_flight') = (ended_at IS NULL))
) WITH (fillfactor = 70);
-- What is in flight is found by when it was begun, which no claim and no heartbeat changes: their
-- updates stay on their page.
CREATE INDEX leases_in_flight ON {schema}.leases (ledger, begun_at) WHERE state = 'in_flight';
CREATE INDEX leases_ended ON {schema}.leases (ledger, ended_at) WHERE ended_at IS NOT NULL;
COMMENT ON COLUMN {schema}.leases.owner_token IS
    'The token of the last claim. Only its owner can say how it ended. Zeros: it was released.';
COMMENT ON COLUMN {schema}.leases.begun_at IS 'The time of the first claim.';
COMMENT ON COLUMN {schema}.leases.taken_over IS
    'The last claim took it from an owner whose lease had run out.';
COMMENT ON COLUMN {schema}.leases.lease_until IS
    'By this server''s clock; from then on any process may take it over.';
COMMENT ON COLUMN {schema}.leases.attempts IS
    'Tries that may have been made, recorded before each; never fewer than were made.';
COMMENT ON COLUMN {schema}.leases.identity IS
    'Names the message, with source, partition and record_offset; as in dead_letters.';
COMMENT ON COLUMN {schema}.leases.counted IS
    'The fence has passed the message, and its totals count it.';
COMMENT ON COLUMN {schema}.leases.result_kept IS
    'The answer is among the ledger''s results, under the same digest.';

-- The answer goes with a row that is taken out: the key's next effect has another one. A process
-- that holds the answer in memory sees another count.
CREATE FUNCTION {schema}.delete_results(wanted_ledger integer, wanted uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made text;
BEGIN
    FOR made IN
        SELECT format('{schema}.results_%s_%s', g.ledger, g.generation)
        FROM {schema}.generations g WHERE g.ledger = wanted_ledger
    LOOP
        CONTINUE WHEN to_regclass(made) IS NULL;
        EXECUTE format('DELETE FROM %s WHERE digest = ANY ($1)', made) USING wanted;
    END LOOP;
    UPDATE {schema}.ledgers SET evictions = evictions + 1 WHERE ledger = wanted_ledger;
END
$$;

-- Takes keys out by hand and records them. A key whose effect is running stays. Returns the digests
-- that were there.
CREATE FUNCTION {schema}.evict_leases(wanted_ledger integer, wanted uuid[], why text)
    RETURNS SETOF uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone uuid[];
BEGIN
    WITH taken AS (
        DELETE FROM {schema}.leases
        WHERE ledger = wanted_ledger AND digest = ANY (wanted)
            AND (state <> 'in_flight' OR lease_until <= clock_timestamp())
        RETURNING digest
    )
    SELECT array_agg(digest) INTO gone FROM taken;
    IF gone IS NOT NULL THEN
        INSERT INTO {schema}.evictions (ledger, generation, digest, reason)
            SELECT wanted_ledger, 0, taken, why FROM unnest(gone) AS taken;
        PERFORM {schema}.delete_results(wanted_ledger, gone);
    END IF;
    RETURN QUERY SELECT unnest(gone);
END
$$;

-- A failed effect is final until its dead letter is sent again: then its key is free.
CREATE FUNCTION {schema}.free_failed_leases(letters bigint[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone record;
    freed bigint := 0;
BEGIN
    FOR gone IN
        DELETE FROM {schema}.leases AS l
        USING {schema}.dead_letters d, {schema}.ledger_feeds f
        WHERE d.dead_letter = ANY (letters) AND f.consumer_group = d.consumer_group
            AND f.topic = d.topic AND f.ledger = l.ledger AND f.source = l.source
            AND l.digest = d.digest AND l.state = 'failed' AND l.identity = d.identity
            AND l.partition = d.partition AND l.record_offset = d.record_offset
        RETURNING l.ledger, l.digest, d.dead_letter
    LOOP
        INSERT INTO {schema}.evictions (ledger, generation, digest, reason)
            VALUES (gone.ledger, 0, gone.digest, format('redrive of letter %s', gone.dead_letter));
        PERFORM {schema}.delete_results(gone.ledger, ARRAY[gone.digest]);
        freed := freed + 1;
    END LOOP;
    RETURN freed;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.delete_results(integer, uuid[]),
    {schema}.evict_leases(integer, uuid[], text), {schema}.free_failed_leases(bigint[]) FROM PUBLIC;
