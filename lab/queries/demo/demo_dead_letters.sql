SELECT count(*), coalesce(min(reason), '') FROM {schema}.dead_letters
