SELECT owner, incarnation, epoch, next_offset, leader_epoch, cluster_id, topic_id,
    retired_at IS NOT NULL,
    EXISTS (SELECT FROM {schema}.partition_suspects AS suspect
        WHERE suspect.consumer_group = fences.consumer_group AND suspect.topic = fences.topic
            AND suspect.partition = fences.partition
            AND suspect.next_offset = fences.next_offset AND suspect.cleared_at IS NULL)
FROM {schema}.fences WHERE consumer_group = $1 AND topic = $2 AND partition = $3
