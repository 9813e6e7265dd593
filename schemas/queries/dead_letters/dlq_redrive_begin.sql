-- Marks letters for a redrive of topic $2, and returns the numbers of those that it has marked;
-- `unchanged` is dlq_unchanged. They are resolved from here on, so that with `order: by_key` ($4)
-- the copies do not wait for their originals. So the letters of a record key are marked together.
-- None of them is marked if one has changed, or if another one is open that was not selected: the
-- copies would wait for that one. The first mark stays: the claim of the first copy is the oldest
-- one, and expires first. The audit log says in the same transaction which letters are marked.
WITH still AS ({unchanged}), waiting AS (
    SELECT d.record_key FROM {schema}.dead_letters AS d
    WHERE $4::boolean AND d.dead_letter = ANY ($1) AND d.record_key IS NOT NULL
        AND d.error_class <> 'hot_key'
        AND d.dead_letter NOT IN (SELECT still.dead_letter FROM still)
    UNION ALL
    SELECT d.record_key
    FROM (SELECT DISTINCT still.consumer_group, still.topic, still.record_key FROM still
            WHERE $4 AND still.record_key IS NOT NULL) AS marking
        JOIN {schema}.dead_letters AS d ON d.consumer_group = marking.consumer_group
            AND d.topic = marking.topic AND sha256(d.record_key) = sha256(marking.record_key)
    WHERE d.resolved_at IS NULL AND d.record_key IS NOT NULL AND d.error_class <> 'hot_key'
        AND NOT d.dead_letter = ANY ($1)
), marked AS (
    UPDATE {schema}.dead_letters SET redrive_began_at = coalesce(redrive_began_at, now()),
        redriven_at = NULL, resolved_at = coalesce(resolved_at, now())
    WHERE dead_letter = ANY (ARRAY(SELECT still.dead_letter FROM still
        WHERE still.record_key IS NULL
            OR still.record_key NOT IN (SELECT waiting.record_key FROM waiting)))
    RETURNING dead_letter
), said AS (
    SELECT array_agg(dead_letter) AS numbers,
        {schema}.record_act('dlq redrive', $2, '', 'began', jsonb_build_object(
            'letters', count(*), 'numbers', jsonb_agg(dead_letter ORDER BY dead_letter))) AS noted
    FROM marked HAVING count(*) > 0
)
SELECT unnest(numbers) FROM said
