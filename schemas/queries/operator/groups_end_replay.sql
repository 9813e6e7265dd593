-- Ends the open replay whose fences have this name. The third column says where they were before
-- they are deleted. A run that is under way may have moved them since.
SELECT r.topic, r.replay,
    coalesce((SELECT string_agg('partition ' || f.partition || ' up to offset ' || f.next_offset,
            ', ' ORDER BY f.partition)
        FROM {schema}.fences f WHERE f.consumer_group = $1 AND f.topic = r.topic), 'nothing'),
    {schema}.end_replay(r.replay)
FROM {schema}.replays r
WHERE r.consumer_group || ' replay ' || r.replay = $1 AND ($2::text IS NULL OR r.topic = $2)
    AND r.finished_at IS NULL
