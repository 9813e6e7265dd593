-- One row: what `onceward doctor` judges of a server in addition to server_check. Its own sessions,
-- which have this session's application name, do not count.
SELECT current_setting('server_version'), current_setting('max_connections')::bigint,
    current_setting('superuser_reserved_connections')::bigint,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
        AND application_name <> current_setting('application_name')),
    current_setting('wal_level'), current_setting('autovacuum'), current_setting('track_counts'),
    coalesce(current_setting('transaction_timeout', true), '0'),
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)::bigint
