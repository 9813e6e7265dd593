-- Dead letters by topic, class, SQLSTATE, column and reason, those with the most first. The filter
-- is that of dlq_select. Numbers and quoted values are left out of a reason, so that one cause is
-- one row; the reason of its newest letter is with it. The column is what a reason of Onceward's or
-- PostgreSQL's names; null if it names none.
SELECT d.topic, d.error_class, d.sqlstate,
    coalesce(substring(d.reason FROM '(?:column|member) [`"]([^`"]+)[`"]'), '') AS named,
    left(regexp_replace(d.reason, '"[^"]*"|`[^`]*`|''[^'']*''|[0-9]+', '…', 'g'), 300) AS said,
    count(*), min(d.created_at)::text, max(d.created_at)::text, max(d.dead_letter),
    left((array_agg(d.reason ORDER BY d.dead_letter DESC))[1], 500)
FROM {schema}.dead_letters d CROSS JOIN LATERAL (SELECT CASE
        WHEN d.resolved_at IS NULL THEN 'open'
        WHEN d.redrive_began_at IS NULL THEN 'resolved'
        WHEN d.redriven_at IS NULL THEN 'redriving'
        ELSE 'redriven' END) AS s (state)
WHERE d.consumer_group = $1 AND ($2::text IS NULL OR d.topic = $2)
    AND (cardinality($3::text[]) = 0 OR d.error_class = ANY ($3))
    AND ($4::bigint IS NULL
        OR d.created_at >= timestamptz 'epoch' + $4 * interval '1 millisecond')
    AND ($5::bigint IS NULL OR d.created_at < timestamptz 'epoch' + $5 * interval '1 millisecond')
    AND ($6::bytea IS NULL OR d.key_text = $6 OR d.record_key = $6)
    AND (cardinality($7::bigint[]) = 0 OR d.dead_letter = ANY ($7))
    AND (cardinality($8::text[]) = 0 OR s.state = ANY ($8))
GROUP BY d.topic, d.error_class, d.sqlstate, named, said
ORDER BY count(*) DESC, d.topic, d.error_class, named, said
LIMIT $9::bigint
