-- The oldest open transaction of this database, prepared ones included: who, for how many seconds,
-- and whether it waits for its client; and for how many sessions the role may not see that.
SELECT oldest.who, oldest.seconds, oldest.idle,
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND backend_type = 'client backend' AND usename IS DISTINCT FROM current_user
        AND state IS NULL)
FROM (VALUES (0)) AS one (row) LEFT JOIN LATERAL (
    SELECT t.who, extract(epoch FROM clock_timestamp() - t.since)::bigint AS seconds, t.idle
    FROM (SELECT 'session ' || pid || ' of ' || usename || ', ' || application_name AS who,
            xact_start AS since, state LIKE 'idle in transaction%' AS idle
        FROM pg_stat_activity
        WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
            AND backend_type = 'client backend'
        UNION ALL
        SELECT 'prepared transaction ' || gid, prepared, true FROM pg_prepared_xacts
        WHERE database = current_database()) AS t
    ORDER BY t.since LIMIT 1) AS oldest ON true
