SELECT owner, incarnation, epoch, next_offset, leader_epoch, cluster_id, topic_id,
    retired_at IS NOT NULL
FROM {schema}.fences WHERE consumer_group = $1 AND topic = $2 AND partition = $3
