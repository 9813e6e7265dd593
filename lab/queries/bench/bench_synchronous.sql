SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'
