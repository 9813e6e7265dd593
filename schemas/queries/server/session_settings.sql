-- Limits of every session of ours. set_config() and not SET, so that they are parameters.
SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
    set_config('idle_in_transaction_session_timeout', $3, false),
    set_config('client_connection_check_interval', $4, false),
    -- A server on a Unix socket refuses tcp_user_timeout; there it has no meaning either.
    CASE WHEN inet_client_addr() IS NOT NULL THEN set_config('tcp_user_timeout', $5, false) END,
    -- lc_messages is left alone: the SQLSTATE decides, never the text.
    set_config('bytea_output', 'hex', false), set_config('DateStyle', 'ISO, YMD', false),
    set_config('IntervalStyle', 'postgres', false), set_config('TimeZone', 'UTC', false),
    set_config('extra_float_digits', '1', false),
    -- A pooler answers with another process id than this one.
    pg_backend_pid()
