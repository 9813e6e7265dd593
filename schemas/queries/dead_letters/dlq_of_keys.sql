-- The dead letters with the same record keys as these, without these themselves: open ones, and
-- those whose copy a redrive may have lost. Copies of hot keys hold back no message, and there may
-- be very many: only a filter that selects them sends them.
SELECT d.dead_letter
FROM {schema}.dead_letters d
WHERE d.consumer_group = $1 AND d.topic = $2 AND d.record_key IS NOT NULL
    AND (d.resolved_at IS NULL OR (d.redrive_began_at IS NOT NULL AND d.redriven_at IS NULL))
    AND d.error_class <> 'hot_key'
    AND NOT d.dead_letter = ANY ($3::bigint[])
    AND sha256(d.record_key) IN (SELECT sha256(picked.record_key) FROM {schema}.dead_letters picked
        WHERE picked.dead_letter = ANY ($3) AND picked.record_key IS NOT NULL)
ORDER BY d.dead_letter
