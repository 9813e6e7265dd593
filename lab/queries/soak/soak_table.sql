CREATE TABLE soak_events (
    event_id uuid NOT NULL,
    number bigint NOT NULL,
    account text NOT NULL,
    currency text NOT NULL,
    created_at timestamptz NOT NULL
);
-- The numbers of all rows, 8 bytes each, and the table is empty: in one transaction, so that no row
-- is counted twice or not at all. The worker waits for the lock meanwhile.
CREATE FUNCTION soak_take() RETURNS bytea LANGUAGE plpgsql AS $body$
DECLARE
    numbers bytea;
BEGIN
    LOCK TABLE soak_events IN ACCESS EXCLUSIVE MODE;
    SELECT coalesce(string_agg(int8send(number), ''), '') INTO numbers FROM soak_events;
    TRUNCATE soak_events;
    RETURN numbers;
END
$body$
