SELECT next_offset FROM {schema}.fences
WHERE consumer_group = $1 AND topic = $2 AND partition = $3::integer
FOR UPDATE
