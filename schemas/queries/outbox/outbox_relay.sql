-- The session that holds the lock of the group's relay (outbox_leader.sql). Another role may not be
-- allowed to see when it began.
SELECT l.pid, a.application_name, a.usename, a.backend_start
FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint)
        = hashtextextended(format('onceward outbox {schema} %L', $1::text), 0)
