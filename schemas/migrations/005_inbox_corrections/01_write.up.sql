-- Corrections to the inbox: what is written for a ledger is read under the lock, a known ledger
-- keeps what nobody named, results do not begin by surprise, and no lock is waited for without
-- a bound.

-- Refuses a transaction whose snapshot is older than a lock that it waited for.
CREATE FUNCTION {schema}.require_read_committed(what text) RETURNS void
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION USING ERRCODE = 'OW001', MESSAGE = format(
                'the transaction is %s; %s needs READ COMMITTED',
                upper(current_setting('transaction_isolation')), what),
            HINT = 'BEGIN ISOLATION LEVEL READ COMMITTED; or change default_transaction_isolation.';
    END IF;
END
$$;

-- Writes the ledger's functions for the generations that it has when the lock is there.
ALTER FUNCTION {schema}.write_inbox(integer) RENAME TO write_inbox_texts;
CREATE FUNCTION {schema}.write_inbox(wanted_ledger integer) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- DANGER: the lock in one statement and the look in the next, and for a ledger whose inbox is
    -- not there yet as well. A rotation holds this lock until it commits: what was read before it
    -- is the text of a sealed generation, with which each claim ends with 40001. A rotation that
    -- did not wait would in the same way miss an inbox that is being registered.
    PERFORM pg_advisory_xact_lock(
        hashtextextended('onceward inbox {schema} ' || wanted_ledger, 0));
    IF EXISTS (SELECT FROM {schema}.inboxes i
            WHERE i.ledger = wanted_ledger AND i.store = 'table') THEN
        PERFORM {schema}.require_read_committed('writing the functions of an inbox');
    END IF;
    PERFORM {schema}.write_inbox_texts(wanted_ledger);
END
$$;

-- Writes claim() and finish(). An older snapshot would leave out a ledger that is new.
ALTER FUNCTION {schema}.write_inbox_entries() RENAME TO write_inbox_entry_texts;
CREATE FUNCTION {schema}.write_inbox_entries() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}.require_read_committed('writing claim() and finish()');
    PERFORM {schema}.write_inbox_entry_texts();
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.require_read_committed(text), {schema}.write_inbox(integer),
    {schema}.write_inbox_entries() FROM PUBLIC;
