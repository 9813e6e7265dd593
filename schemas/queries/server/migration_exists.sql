SELECT to_regclass('{schema}.schema_migrations') IS NOT NULL
