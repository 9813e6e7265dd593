-- Dead letters by topic, class, SQLSTATE, column and reason, the most frequent first; `matching` is
-- dlq_matching. Numbers and quoted values are left out of a reason, so that one cause is one row;
-- the reason of its newest letter is with it. The column is the one that a reason of Onceward's or
-- PostgreSQL's names; '' if it names none.
SELECT d.topic, d.error_class, d.sqlstate,
    coalesce(substring(d.reason FROM '(?:column|member) [`"]([^`"]+)[`"]'), '') AS named,
    left(regexp_replace(d.reason, '"[^"]*"|`[^`]*`|''[^'']*''|[0-9]+', '…', 'g'), 300) AS said,
    count(*), min(d.created_at)::text, max(d.created_at)::text, max(d.dead_letter),
    left((array_agg(d.reason ORDER BY d.dead_letter DESC))[1], 500)
FROM ({matching}) AS d
GROUP BY d.topic, d.error_class, d.sqlstate, named, said
ORDER BY count(*) DESC, d.topic, d.error_class, named, said
LIMIT $10::bigint
