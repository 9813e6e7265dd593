-- Dead letters: messages that a data fault has rejected, whole, so that they can be sent again.
CREATE TABLE {schema}.dead_letters (
    dead_letter bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    identity text NOT NULL,
    partition integer NOT NULL,
    record_offset bigint NOT NULL,
    record_timestamp timestamptz,
    record_key bytea,
    headers jsonb NOT NULL DEFAULT '[]',
    payload bytea,
    key_text bytea,
    digest uuid,
    error_class text NOT NULL,
    sqlstate text NOT NULL DEFAULT '',
    reason text NOT NULL,
    attempts integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    fingerprint uuid,
    first_fingerprint uuid,
    first_places jsonb,
    redrive_began_at timestamptz,
    redriven_at timestamptz,
    CONSTRAINT dead_letters_key PRIMARY KEY (dead_letter),
    CONSTRAINT dead_letters_once UNIQUE (consumer_group, topic, identity, partition, record_offset)
);
-- Which ones are still open, by record key: with `order: by_key` what follows one becomes a dead
-- letter too.
CREATE INDEX dead_letters_open ON {schema}.dead_letters
    (consumer_group, topic, sha256(record_key), dead_letter)
    WHERE resolved_at IS NULL AND record_key IS NOT NULL;
COMMENT ON COLUMN {schema}.dead_letters.identity IS
    'The topic''s id, else its fence''s incarnation: a recreated topic is another topic.';
COMMENT ON COLUMN {schema}.dead_letters.headers IS
    'In the record''s order: [{"name": text, "value": base64 or null}, ...]; "name_base64" if '
    'the name is not UTF-8.';
COMMENT ON COLUMN {schema}.dead_letters.resolved_at IS
    'Set by an operator, or by a rewind that reads the message again; null while it is open.';
-- The next three describe a conflict: a key that was claimed with another fingerprint.
COMMENT ON COLUMN {schema}.dead_letters.fingerprint IS
    'The fingerprint of this message, if its topic asks for one.';
COMMENT ON COLUMN {schema}.dead_letters.first_fingerprint IS
    'The fingerprint of the message that has the key, if this one is in conflict with it.';
COMMENT ON COLUMN {schema}.dead_letters.first_places IS
    'Where that message is: [{"group", "topic", "partition", "offset"}], with "last_offset" if '
    'the ledger knows only its batch, in one of these partitions; null if it knows nothing.';
-- A redrive marks its dead letters before it produces them and again when Kafka has them: what was
-- interrupted between the two is produced again, never lost.
COMMENT ON COLUMN {schema}.dead_letters.redrive_began_at IS
    'Set, with resolved_at, before `onceward dlq redrive` produces it.';
COMMENT ON COLUMN {schema}.dead_letters.redriven_at IS
    'Set when Kafka has the copy; null after redrive_began_at: Kafka may have it, or not.';

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

-- Deletes dead letters and records them, as the schema's owner: no role needs a right to delete,
-- and no role can do the one without the other.
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
REVOKE EXECUTE ON FUNCTION {schema}.discard_dead_letters(bigint[], text) FROM PUBLIC;
