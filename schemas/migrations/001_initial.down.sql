-- Generations first: they are made while the workers run, so no list here can name them.
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS generation FROM pg_class c, pg_class pattern
        WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
            AND c.relkind = 'r' AND c.relname ~ '^claims_[0-9]+_[0-9]+$'
    LOOP
        EXECUTE format('DROP TABLE %s', found.generation);
    END LOOP;
END
$$;
DROP TABLE {schema}.skipped_ranges;
DROP TABLE {schema}.dead_letters;
DROP TABLE {schema}.claims;
DROP TABLE {schema}.generations;
DROP TABLE {schema}.ledger_feeds;
DROP TABLE {schema}.fences;
DROP TABLE {schema}.ledgers;
