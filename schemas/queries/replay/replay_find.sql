-- The last replay that was requested with the same words. The last column is '' unless somebody
-- ended it before it had read everything.
SELECT replay, finished_at IS NOT NULL, ranges::text, started_by, coalesce(finished_at, started_at),
    applied, coalesce(ended_by, '')
FROM {schema}.replays WHERE consumer_group = $1 AND topic = $2 AND description = $3
ORDER BY replay DESC
LIMIT 1
