-- CREATE SCHEMA IF NOT EXISTS asks for the right to create even if it exists; a DBA may have
-- made it for us.
DO $$
BEGIN
    IF to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
    IF to_regclass('{schema}.schema_migrations') IS NULL THEN
        CREATE TABLE {schema}.schema_migrations (
            number integer NOT NULL,
            name text NOT NULL,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now(),
            CONSTRAINT schema_migrations_key PRIMARY KEY (number)
        );
        COMMENT ON COLUMN {schema}.schema_migrations.checksum IS
            'SHA-256 of the migration''s text before the schema''s name was put in.';
    END IF;
END
$$;
