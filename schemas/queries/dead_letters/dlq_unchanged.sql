-- Locks those of the letters $1 that are still in the state in which they were selected: $3 has one
-- state for each of them. dlq_discard and dlq_redrive_begin read from it, under the name
-- `unchanged`. DANGER: the state has to be checked under the rows' locks. Somebody may have sent,
-- resolved or discarded a letter after it was selected.
SELECT d.dead_letter, d.consumer_group, d.topic, d.record_key
FROM unnest($1::bigint[], $3::text[]) AS selected (number, state)
    JOIN {schema}.dead_letters AS d ON d.dead_letter = selected.number
WHERE selected.state = CASE
        WHEN d.resolved_at IS NULL THEN 'open'
        WHEN d.redrive_began_at IS NULL THEN 'resolved'
        WHEN d.redriven_at IS NULL THEN 'redriving'
        ELSE 'redriven' END
ORDER BY d.dead_letter
FOR UPDATE OF d
