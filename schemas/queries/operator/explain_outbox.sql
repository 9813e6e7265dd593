-- Records that wait to be sent, by their topics and ids.
SELECT o.consumer_group, o.topic, o.id, o.position, o.created_at
FROM unnest($1::text[], $2::uuid[]) AS wanted (topic, id)
    JOIN {schema}.outbox AS o ON o.topic = wanted.topic AND o.id = wanted.id
ORDER BY o.created_at
