SELECT count(DISTINCT owner) FROM {schema}.fences WHERE topic = $1 AND epoch > 0
