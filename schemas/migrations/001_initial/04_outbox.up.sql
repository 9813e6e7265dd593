-- Records on their way to Kafka: written in the transaction of the messages that they come from,
-- deleted once Kafka has them. The relay is their only reader, and a row lives for milliseconds, so
-- autovacuum goes by the number of rows and not by the table's size, which is next to nothing.
CREATE TABLE {schema}.outbox (
    consumer_group text NOT NULL,
    topic text NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL,
    order_key bytea,
    record_key bytea,
    payload bytea,
    headers bytea NOT NULL DEFAULT '',
    tenant bytea,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT outbox_key PRIMARY KEY (consumer_group, topic, position)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 10000);
COMMENT ON COLUMN {schema}.outbox.topic IS 'The topic that the record goes to.';
COMMENT ON COLUMN {schema}.outbox.position IS
    'The order of the rows of one transaction, and of transactions one after the other. Those that '
    'run at the same time commit in any order, so that no reader may conclude from a position that '
    'all rows before it are known.';
COMMENT ON COLUMN {schema}.outbox.id IS
    'The header `onceward-id`: made of the message''s idempotency key, so that it is the same if '
    'the message is processed again. Not unique: each row is sent.';
COMMENT ON COLUMN {schema}.outbox.order_key IS
    'Rows with the same one, for the same topic, are sent in their order; null: in any.';
COMMENT ON COLUMN {schema}.outbox.headers IS
    'In their order, each as its name and its value, both after their length (int32; -1: null).';
COMMENT ON COLUMN {schema}.outbox.tenant IS
    'Set for a reply: whose stored result it holds. `onceward forget --tenant` erases both.';

-- Deletes rows as the schema's owner, so that no worker needs a right to delete. Both position and
-- id must match: after a fail-over that lost commits a position may be another row's.
CREATE FUNCTION {schema}.remove_sent(of_group text, topics text[], positions bigint[], ids uuid[])
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM {schema}.outbox AS o
        USING unnest(topics, positions, ids) AS sent (topic, place, id)
        WHERE o.consumer_group = of_group AND o.topic = sent.topic AND o.position = sent.place
            AND o.id = sent.id;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.remove_sent(text, text[], bigint[], uuid[]) FROM PUBLIC;
