SELECT topic, sum(applied)::bigint, sum(duplicates)::bigint, sum(conflicts)::bigint,
    sum(dead_lettered)::bigint, sum(skipped)::bigint
FROM {schema}.fences WHERE consumer_group = $1
GROUP BY topic ORDER BY topic
