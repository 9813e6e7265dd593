-- Records a replay with fences of its own at the beginnings of its ranges, in one statement;
-- records nothing if the same replay has begun and not finished.
-- DANGER: first take the locks of the ledgers that the topic feeds; `locks` is
-- claims_lock_of_topic. An expiry that is under way has not seen this replay, and would drop claims
-- after the caller has checked them; one that begins after this COMMIT sees it.
WITH held AS MATERIALIZED (
{locks}
),
made AS (
    INSERT INTO {schema}.replays (consumer_group, topic, description, without_dedup, ranges, reason)
    SELECT $1, $2, $3, $4::boolean, $5::jsonb, $6 FROM held WHERE held.locks >= 0
    ON CONFLICT (consumer_group, topic, description) WHERE finished_at IS NULL DO NOTHING
    RETURNING consumer_group || ' replay ' || replay AS name, topic, ranges
)
INSERT INTO {schema}.fences (consumer_group, topic, partition, incarnation, owner, first_offset,
    next_offset)
SELECT made.name, made.topic, range.partition, gen_random_uuid(), gen_random_uuid(), range.begin,
    range.begin
FROM made, jsonb_to_recordset(made.ranges) AS range (partition integer, "begin" bigint)
