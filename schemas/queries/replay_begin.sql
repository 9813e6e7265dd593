-- Writes a replay down with fences of its own at the beginnings of its ranges, in one statement;
-- nothing where the same one has begun and not finished.
WITH made AS (
    INSERT INTO {schema}.replays (consumer_group, topic, description, without_dedup, ranges, reason)
    VALUES ($1, $2, $3, $4::boolean, $5::jsonb, $6)
    ON CONFLICT (consumer_group, topic, description) WHERE finished_at IS NULL DO NOTHING
    RETURNING consumer_group || ' replay ' || replay AS name, topic, ranges
)
INSERT INTO {schema}.fences (consumer_group, topic, partition, incarnation, owner, first_offset,
    next_offset)
SELECT made.name, made.topic, range.partition, gen_random_uuid(), gen_random_uuid(), range.begin,
    range.begin
FROM made, jsonb_to_recordset(made.ranges) AS range (partition integer, "begin" bigint)
