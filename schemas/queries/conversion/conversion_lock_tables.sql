-- Locks the tables that the switch drops, before it does its work: if a dump reads one of them, the
-- lock's time-out ends the transaction here, and not after the open generation's segment was made.
-- It waits, because PostgreSQL ends an autovacuum of a table only for a session that waits. Run it
-- with the ledger's exclusive lock held, after conversion_check: the tables are there.
DO $$
DECLARE
    one bigint;
BEGIN
    FOREACH one IN ARRAY '{generations}'::bigint[] || {open}::bigint LOOP
        EXECUTE format('LOCK TABLE {schema}.claims_%s_%s IN ACCESS EXCLUSIVE MODE', {ledger}, one);
    END LOOP;
END
$$
