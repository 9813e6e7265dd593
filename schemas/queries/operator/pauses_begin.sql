-- If it is paused already, the newer reason is kept.
INSERT INTO {schema}.topic_pauses AS pause (consumer_group, topic, reason) VALUES ($1, $2, $3)
ON CONFLICT (consumer_group, topic) WHERE resumed_at IS NULL DO UPDATE SET reason = excluded.reason
RETURNING paused_at, paused_at < now()
