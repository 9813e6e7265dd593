SELECT EXISTS (SELECT FROM {schema}.dead_letters WHERE consumer_group = $1 AND topic = $2
    AND resolved_at IS NULL AND record_key IS NOT NULL AND error_class <> 'hot_key')
