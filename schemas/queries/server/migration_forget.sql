DELETE FROM {schema}.schema_migrations WHERE number = {number};
