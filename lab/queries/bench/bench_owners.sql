-- Workers that have partitions. Not their `owner`, which is another one for each partition.
SELECT count(DISTINCT owner_name) FROM {schema}.fences WHERE topic = $1 AND epoch > 0
