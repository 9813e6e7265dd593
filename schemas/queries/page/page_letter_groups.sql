-- The group's dead letters by topic, class and reason: of the newest 100,000 in the state. $2: a
-- topic, or any; $3: the open ones alone. Numbers and quoted values are left out of a reason, so
-- that one cause is one row; an example is with it.
SELECT d.topic, d.error_class, d.sqlstate,
    left(regexp_replace(d.reason, '"[^"]*"|`[^`]*`|''[^'']*''|[0-9]+', '…', 'g'), 300) AS said,
    count(*), min(d.created_at)::text, max(d.created_at)::text, max(d.dead_letter),
    left((array_agg(d.reason ORDER BY d.dead_letter DESC))[1], 500)
FROM (SELECT topic, error_class, sqlstate, reason, created_at, dead_letter
    FROM {schema}.dead_letters
    WHERE consumer_group = $1 AND ($2::text IS NULL OR topic = $2)
        AND ($3::boolean IS FALSE OR resolved_at IS NULL)
    ORDER BY dead_letter DESC LIMIT 100000) AS d
GROUP BY d.topic, d.error_class, d.sqlstate, said
ORDER BY count(*) DESC, d.topic, d.error_class
LIMIT 200
