-- The dead letters of a group that match a filter, each with its state: dlq_select, dlq_summary and
-- dlq_export read from it, under the name `matching`. `redriving`: a redrive has marked it, and
-- Kafka may have a copy; another redrive produces it again.
SELECT d.*, s.state
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
    AND d.dead_letter > $9::bigint
