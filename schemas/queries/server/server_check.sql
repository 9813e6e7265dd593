-- What a server must be like before a worker writes to it; dedup/server/server_check.cc judges.
SELECT pg_is_in_recovery(), current_setting('transaction_read_only'),
    current_setting('synchronous_commit'), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('server_encoding'),
    to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL
