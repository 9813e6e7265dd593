INSERT INTO {schema}.ledger_feeds AS known (ledger, consumer_group, topic)
VALUES ($1::integer, $2, $3)
ON CONFLICT (ledger, consumer_group, topic) DO UPDATE SET topic = known.topic
RETURNING source
