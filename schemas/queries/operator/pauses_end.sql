UPDATE {schema}.topic_pauses SET resumed_at = now(), resumed_by = session_user
WHERE consumer_group = $1 AND topic = $2 AND resumed_at IS NULL
RETURNING paused_at, reason
