-- Discards letters for the reason $2, and returns how many; `unchanged` is dlq_unchanged.
WITH still AS ({unchanged})
SELECT {schema}.discard_dead_letters(coalesce(array_agg(dead_letter), ARRAY[]::bigint[]), $2)
FROM still
