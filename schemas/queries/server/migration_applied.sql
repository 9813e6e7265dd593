SELECT number, name, checksum, applied_at FROM {schema}.schema_migrations ORDER BY number
