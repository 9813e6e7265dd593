INSERT INTO {schema}.schema_migrations (number, name, checksum)
    VALUES ({number}, '{name}', '{checksum}');
