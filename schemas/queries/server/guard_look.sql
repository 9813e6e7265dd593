-- Which sessions keep the sessions $1 waiting for a lock for longer than $2 ms, through any number
-- of waiters in between: a second waiter for a row sees only the first one. `frozen`: the session
-- waits for its client inside a transaction older than that. Two checks with the same `state` show
-- that it makes no progress. The state of another role's session is hidden from us.
WITH RECURSIVE chain (pid) AS (
    SELECT lock.pid FROM pg_locks AS lock
    WHERE NOT lock.granted AND lock.pid = ANY ($1::integer[])
        AND lock.waitstart < clock_timestamp() - $2::bigint * interval '1 millisecond'
    UNION
    SELECT blocker.pid FROM chain, LATERAL unnest(pg_blocking_pids(chain.pid)) AS blocker (pid)
)
SELECT holder.pid, holder.backend_start::text,
    holder.usesysid IS NOT DISTINCT FROM
        (SELECT oid FROM pg_roles WHERE rolname = current_user) AS own,
    coalesce(holder.wait_event_type = 'Client'
        AND holder.xact_start < clock_timestamp() - $2::bigint * interval '1 millisecond',
        false) AS frozen,
    concat_ws(' ', holder.query_start, holder.state_change, copy.bytes_processed,
        copy.tuples_processed)
        AS state
FROM chain JOIN pg_stat_activity AS holder USING (pid)
    LEFT JOIN pg_stat_progress_copy AS copy USING (pid)
WHERE NOT EXISTS (SELECT FROM pg_locks AS lock WHERE lock.pid = holder.pid AND NOT lock.granted)
ORDER BY holder.pid
