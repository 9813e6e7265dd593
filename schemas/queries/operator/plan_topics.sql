-- What the group has here: for each of its topics the number of fences that nobody has retired, and
-- a row for each ledger that it feeds, null if it feeds none. Without routes, which have no fences.
SELECT t.topic,
    (SELECT count(*) FROM {schema}.fences f
        WHERE f.consumer_group = $1 AND f.topic = t.topic AND f.retired_at IS NULL),
    l.name
FROM (SELECT topic FROM {schema}.fences WHERE consumer_group = $1
    UNION SELECT topic FROM {schema}.ledger_feeds
        WHERE consumer_group = $1 AND longest_request IS NULL) AS t
    LEFT JOIN {schema}.ledger_feeds s ON s.consumer_group = $1 AND s.topic = t.topic
        AND s.retired_at IS NULL AND s.longest_request IS NULL
    LEFT JOIN {schema}.ledgers l USING (ledger)
ORDER BY t.topic, l.name
