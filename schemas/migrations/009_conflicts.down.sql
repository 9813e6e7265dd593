ALTER TABLE {schema}.dead_letters DROP COLUMN fingerprint, DROP COLUMN first_fingerprint,
    DROP COLUMN first_places;
