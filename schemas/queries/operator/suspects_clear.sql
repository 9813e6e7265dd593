UPDATE {schema}.partition_suspects SET cleared_at = now()
WHERE consumer_group = $1 AND topic = $2 AND partition = $3::integer AND cleared_at IS NULL
