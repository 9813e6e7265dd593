-- Returns no row, and writes none, if the group has neither a fence nor a feed of the topic, unless
-- the caller knows that it reads the topic ($4). A feed with a longest request is a route's, which
-- no pause would stop. If the topic is paused already, the newer reason is kept.
INSERT INTO {schema}.topic_pauses AS pause (consumer_group, topic, reason)
SELECT $1, $2, $3
WHERE $4::boolean
    OR EXISTS (SELECT FROM {schema}.fences WHERE consumer_group = $1 AND topic = $2)
    OR EXISTS (SELECT FROM {schema}.ledger_feeds
        WHERE consumer_group = $1 AND topic = $2 AND longest_request IS NULL)
ON CONFLICT (consumer_group, topic) WHERE resumed_at IS NULL DO UPDATE SET reason = excluded.reason
RETURNING paused_at, paused_at < now()
