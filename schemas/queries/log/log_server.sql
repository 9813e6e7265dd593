-- Names the server that a session is with, and the course of its history: a standby that became the
-- primary is another one, and so is what a backup was restored into.
SELECT concat_ws('/', pg_postmaster_start_time(), left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (SELECT oid FROM pg_database WHERE datname = current_database()), '{schema}')
