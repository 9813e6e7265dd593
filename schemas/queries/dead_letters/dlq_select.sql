-- Dead letters of a group, the oldest first; `matching` is dlq_matching. The last column: whether a
-- copy of the message, or the message itself after a rewind, may have been applied before the
-- claims of its ledger begin.
SELECT d.dead_letter, d.topic, d.partition, d.record_offset, d.error_class, d.sqlstate, d.reason,
    d.created_at::text, d.state, d.attempts, d.key_text, d.record_key, d.headers::text,
    coalesce(length(d.payload), 0)::bigint, (d.redrive_began_at IS NOT NULL)::integer::bigint,
    (m.marked_at IS NOT NULL AND coalesce(m.marked_at < (
        SELECT max(CASE WHEN l.store = 'lease' THEN clock_timestamp() - l.retention
            ELSE (SELECT min(g.created_at) FROM {schema}.generations g
                WHERE g.ledger = l.ledger) END)
        FROM {schema}.ledger_feeds f JOIN {schema}.ledgers l USING (ledger)
        WHERE f.consumer_group = d.consumer_group AND f.topic = d.topic
            AND f.retired_at IS NULL), true))::integer::bigint
FROM ({matching}) AS d
    CROSS JOIN LATERAL (SELECT least(d.redrive_began_at, d.resolved_at)) AS m (marked_at)
ORDER BY d.dead_letter
LIMIT $10::bigint
