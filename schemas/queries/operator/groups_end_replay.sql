-- Ends the open replay whose fences have this name.
SELECT r.topic, r.replay, {schema}.end_replay(r.replay)
FROM {schema}.replays r
WHERE r.consumer_group || ' replay ' || r.replay = $1 AND ($2::text IS NULL OR r.topic = $2)
    AND r.finished_at IS NULL
