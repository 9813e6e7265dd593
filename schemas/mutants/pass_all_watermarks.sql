-- Only in a build with ONCEWARD_MUTANTS: retention by the wall clock, whatever was passed.
WITH passed AS (
    UPDATE {schema}.fences SET watermark = clock_timestamp() RETURNING consumer_group, topic
)
UPDATE {schema}.ledger_feeds AS feed SET watermark = clock_timestamp(), partitions = (
    SELECT count(*) FROM passed
    WHERE passed.consumer_group = feed.consumer_group AND passed.topic = feed.topic)
