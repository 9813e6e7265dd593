-- Discards those of the letters $1 that are still in one of the states $3 (none: any), for the
-- reason $2. DANGER: the state has to be checked under the rows' locks. A redrive may have marked a
-- letter after it was selected, and may have sent it.
WITH still AS (
    SELECT d.dead_letter
    FROM {schema}.dead_letters AS d
    WHERE d.dead_letter = ANY ($1::bigint[])
        AND (cardinality($3::text[]) = 0 OR CASE
                WHEN d.resolved_at IS NULL THEN 'open'
                WHEN d.redrive_began_at IS NULL THEN 'resolved'
                WHEN d.redriven_at IS NULL THEN 'redriving'
                ELSE 'redriven' END = ANY ($3::text[]))
    ORDER BY d.dead_letter
    FOR UPDATE
)
SELECT {schema}.discard_dead_letters(coalesce(array_agg(dead_letter), ARRAY[]::bigint[]), $2)
FROM still
