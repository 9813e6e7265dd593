-- The fence was moved back: these messages are read again, so their dead letters hold back no
-- message. They are locked in the order of their numbers, as a redrive locks them: in another order
-- the two could wait for each other.
WITH reread AS (
    SELECT d.dead_letter
    FROM {schema}.dead_letters AS d JOIN {schema}.fences AS f ON f.consumer_group = d.consumer_group
        AND f.topic = d.topic AND f.partition = d.partition
    WHERE d.consumer_group = $1 AND d.topic = $2 AND d.partition = $3::integer
        AND d.record_offset >= $4::bigint AND d.resolved_at IS NULL
        AND d.identity = coalesce(nullif(f.topic_id, ''), f.incarnation::text)
    ORDER BY d.dead_letter
    FOR UPDATE OF d
)
UPDATE {schema}.dead_letters SET resolved_at = now()
WHERE dead_letter = ANY (ARRAY(SELECT reread.dead_letter FROM reread))
