SELECT EXISTS (SELECT FROM {schema}.fences WHERE consumer_group = $1 AND topic = $2)
