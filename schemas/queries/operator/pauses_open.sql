SELECT topic, reason, paused_by, paused_at FROM {schema}.topic_pauses
WHERE consumer_group = $1 AND resumed_at IS NULL
ORDER BY topic
