-- The open dead letters of a group by topic and class, counted up to 100,000, with the age of the
-- oldest in seconds.
SELECT topic, error_class, count(*),
    extract(epoch FROM clock_timestamp() - min(created_at))::bigint
FROM (SELECT topic, error_class, created_at FROM {schema}.dead_letters
    WHERE consumer_group = $1 AND resolved_at IS NULL LIMIT 100000) AS letters
GROUP BY topic, error_class ORDER BY count(*) DESC
