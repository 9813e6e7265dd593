SELECT count(*), count(DISTINCT event_id) FROM {table}
