-- One migration at a time in each schema; the lock ends with the transaction.
DO $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('onceward migrate {schema}', 0));
END
$$;
