DROP TABLE {schema}.schema_migrations;
