-- The letters are resolved from here on, so that with `order: by_key` the copies do not wait for
-- their originals. The first mark stays: the claim of the first copy is the oldest one, and expires
-- first. The audit log says in the same transaction which letters are marked, and for which topic
-- ($2).
WITH marked AS (
    UPDATE {schema}.dead_letters SET redrive_began_at = coalesce(redrive_began_at, now()),
        redriven_at = NULL, resolved_at = coalesce(resolved_at, now())
    WHERE dead_letter = ANY ($1::bigint[])
    RETURNING dead_letter
)
SELECT {schema}.record_act('dlq redrive', $2, '', 'began', jsonb_build_object(
    'letters', count(*), 'numbers', jsonb_agg(dead_letter ORDER BY dead_letter)))
FROM marked
