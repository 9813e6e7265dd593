-- A ledger's floor and evictions, with each of its generations. A generation that is a segment has
-- its measures, a row for each part: of one partition ($3) of one source ($2), or of all (null).
-- The last two columns are how often it was merged, and the last generation that is in it.
SELECT l.log_floor, l.evictions, g.generation, s.by_partition, coalesce(p.claims, s.claims),
    coalesce(p.shard_bits, s.shard_bits), coalesce(p.part, 0), coalesce(p.first_filter, 0),
    coalesce(s.merge, 0), coalesce(s.last_generation, g.generation)
FROM {schema}.ledgers l JOIN {schema}.generations g USING (ledger)
    LEFT JOIN {schema}.segments s USING (ledger, generation)
    LEFT JOIN {schema}.segment_parts p ON p.ledger = s.ledger AND p.generation = s.generation
        AND ($2::integer IS NULL OR (p.source = $2::integer AND p.partition = $3::integer))
WHERE l.ledger = $1::integer
ORDER BY g.generation, p.part
