-- The partitions of a group that are read slowly because a worker may have died of their memory.
SELECT topic, partition FROM {schema}.partition_suspects
WHERE consumer_group = $1 AND cleared_at IS NULL
ORDER BY topic, partition
