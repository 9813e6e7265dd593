-- Dead letters of a group, the oldest first. `redriving`: a redrive has marked it, and Kafka has it
-- perhaps; another redrive produces it again. The last column: whether a copy of it, or itself
-- after a rewind, may have been applied before the claims of its ledger begin.
SELECT d.dead_letter, d.topic, d.partition, d.record_offset, d.error_class, d.sqlstate, d.reason,
    d.created_at::text, s.state, d.attempts, d.key_text, d.record_key, d.headers::text,
    coalesce(length(d.payload), 0)::bigint, (d.redrive_began_at IS NOT NULL)::integer::bigint,
    (m.marked_at IS NOT NULL AND coalesce(m.marked_at < (
        SELECT max(CASE WHEN l.store = 'lease' THEN clock_timestamp() - l.retention
            ELSE (SELECT min(g.created_at) FROM {schema}.generations g
                WHERE g.ledger = l.ledger) END)
        FROM {schema}.ledger_feeds f JOIN {schema}.ledgers l USING (ledger)
        WHERE f.consumer_group = d.consumer_group AND f.topic = d.topic
            AND f.retired_at IS NULL), true))::integer::bigint
FROM {schema}.dead_letters d CROSS JOIN LATERAL (SELECT CASE
        WHEN d.resolved_at IS NULL THEN 'open'
        WHEN d.redrive_began_at IS NULL THEN 'resolved'
        WHEN d.redriven_at IS NULL THEN 'redriving'
        ELSE 'redriven' END) AS s (state)
    CROSS JOIN LATERAL (SELECT least(d.redrive_began_at, d.resolved_at)) AS m (marked_at)
WHERE d.consumer_group = $1 AND ($2::text IS NULL OR d.topic = $2)
    AND (cardinality($3::text[]) = 0 OR d.error_class = ANY ($3))
    AND ($4::bigint IS NULL
        OR d.created_at >= timestamptz 'epoch' + $4 * interval '1 millisecond')
    AND ($5::bigint IS NULL OR d.created_at < timestamptz 'epoch' + $5 * interval '1 millisecond')
    AND ($6::bytea IS NULL OR d.key_text = $6 OR d.record_key = $6)
    AND (cardinality($7::bigint[]) = 0 OR d.dead_letter = ANY ($7))
    AND (cardinality($8::text[]) = 0 OR s.state = ANY ($8))
ORDER BY d.dead_letter
LIMIT $9::bigint
