ALTER TABLE {schema}.dead_letters DROP COLUMN resolved_at;
