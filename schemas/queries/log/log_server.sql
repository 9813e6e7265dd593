-- Identifies the server of a session and its history: a standby that became the primary is another
-- server, and so is one into which a backup was restored.
SELECT concat_ws('/', pg_postmaster_start_time(), left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (SELECT oid FROM pg_database WHERE datname = current_database()), '{schema}')
