-- Ends the session only if it is still the same one in the same state: since the check its pid may
-- belong to a new session.
SELECT coalesce(bool_or(pg_terminate_backend(holder.pid)), false)
FROM pg_stat_activity AS holder LEFT JOIN pg_stat_progress_copy AS copy USING (pid)
WHERE holder.pid = $1::integer AND holder.backend_start::text = $2
    AND holder.wait_event_type = 'Client'
    AND concat_ws(' ', holder.query_start, holder.state_change, copy.bytes_processed,
        copy.tuples_processed) = $3
