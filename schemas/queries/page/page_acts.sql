-- What people have done to the group by hand, the newest first: pauses, moves of fences, ranges
-- passed unread, keys forgotten, replays. Columns: when, who, what, on what, why.
SELECT a.at::text, a.who, a.act, a.target, a.reason
FROM (
    SELECT paused_at AS at, paused_by AS who, 'pause' AS act, 'topic ' || topic AS target, reason
    FROM {schema}.topic_pauses WHERE consumer_group = $1
    UNION ALL
    SELECT resumed_at, resumed_by, 'resume', 'topic ' || topic, ''
    FROM {schema}.topic_pauses WHERE consumer_group = $1 AND resumed_at IS NOT NULL
    UNION ALL
    SELECT moved_at, moved_by, 'move fence',
        format('%s partition %s from %s to %s', topic, partition,
            coalesce(from_offset::text, 'nothing'), to_offset), reason
    FROM {schema}.fence_moves WHERE consumer_group = $1
    UNION ALL
    SELECT skipped_at, skipped_by, 'pass unread',
        format('%s partition %s, offsets %s up to %s', topic, partition, begin_offset,
            end_offset), reason
    FROM {schema}.skipped_ranges WHERE consumer_group = $1
    UNION ALL
    SELECT e.evicted_at, e.evicted_by, 'forget key',
        format('digest %s in ledger %s', e.digest, l.name), e.reason
    FROM {schema}.evictions e JOIN {schema}.ledgers l USING (ledger)
    WHERE EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.consumer_group IN ($1, 'inbox', 'once()'))
    UNION ALL
    SELECT started_at, started_by, 'replay', 'topic ' || topic || ': ' || description, reason
    FROM {schema}.replays WHERE consumer_group = $1
) AS a
ORDER BY a.at DESC
LIMIT 200
