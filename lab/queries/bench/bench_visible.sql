SELECT count(*) FROM {table} WHERE event_id = $1::uuid
