-- A feed without a log. Its partitions are none; see ledger_watermark().
INSERT INTO {schema}.ledger_feeds AS known (ledger, consumer_group, topic, longest_request)
VALUES ($1::integer, $2, $3, $4::interval)
ON CONFLICT (ledger, consumer_group, topic) DO UPDATE SET
    longest_request = excluded.longest_request, retired_at = NULL
RETURNING source
