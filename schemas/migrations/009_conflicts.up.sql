-- What a conflict met, beside its dead letter: a key that was claimed with another fingerprint.
-- Existing dead letters have none.
ALTER TABLE {schema}.dead_letters ADD COLUMN fingerprint uuid,
    ADD COLUMN first_fingerprint uuid,
    ADD COLUMN first_places jsonb;
COMMENT ON COLUMN {schema}.dead_letters.fingerprint IS
    'Of this message, where its topic asks for one.';
COMMENT ON COLUMN {schema}.dead_letters.first_fingerprint IS
    'Of the message that has the key, where this one is in conflict with it.';
COMMENT ON COLUMN {schema}.dead_letters.first_places IS
    'Where that message is: [{"group", "topic", "partition", "offset"}], with "last_offset" where '
    'the ledger knows its batch alone, in one of these partitions; null where it knows nothing.';
