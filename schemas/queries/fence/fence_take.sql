-- What the row says about the log is kept; the new owner adds what it does not say yet.
UPDATE {schema}.fences SET
    owner = CASE WHEN retired_at IS NULL THEN $4 ELSE owner END,
    epoch = epoch + 1,
    owner_name = $5,
    cluster_id = CASE WHEN cluster_id = '' THEN $6 ELSE cluster_id END,
    topic_id = CASE WHEN topic_id = '' THEN $7 ELSE topic_id END,
    ledger = coalesce(nullif($8::integer, 0), ledger),
    taken_at = now()
WHERE consumer_group = $1 AND topic = $2 AND partition = $3
RETURNING owner, incarnation, epoch, next_offset, leader_epoch, cluster_id, topic_id,
    retired_at IS NOT NULL,
    EXISTS (SELECT FROM {schema}.partition_suspects AS suspect
        WHERE suspect.consumer_group = fences.consumer_group AND suspect.topic = fences.topic
            AND suspect.partition = fences.partition
            AND suspect.next_offset = fences.next_offset AND suspect.cleared_at IS NULL)
