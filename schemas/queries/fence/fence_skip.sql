-- Moves a fence over offsets that were not read, and records them, in one statement.
WITH moved AS (
    UPDATE {schema}.fences SET next_offset = $6::bigint, leader_epoch = -1, moved_at = now()
    WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND owner = $4
        AND next_offset = $5::bigint
    RETURNING consumer_group, topic, partition
)
INSERT INTO {schema}.skipped_ranges
    (consumer_group, topic, partition, begin_offset, end_offset, reason)
SELECT consumer_group, topic, partition, $5::bigint, $6::bigint, $7 FROM moved
