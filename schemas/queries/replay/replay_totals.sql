-- What became of the messages so far; for a replay that has finished, of all of them.
SELECT coalesce(sum(f.applied), 0)::bigint + r.applied,
    coalesce(sum(f.duplicates), 0)::bigint + r.duplicates,
    coalesce(sum(f.conflicts), 0)::bigint + r.conflicts,
    coalesce(sum(f.dead_lettered), 0)::bigint + r.dead_lettered,
    coalesce(sum(f.skipped), 0)::bigint + r.skipped
FROM {schema}.replays r LEFT JOIN {schema}.fences f
    ON f.consumer_group = r.consumer_group || ' replay ' || r.replay
WHERE r.replay = $1::bigint
GROUP BY r.replay
