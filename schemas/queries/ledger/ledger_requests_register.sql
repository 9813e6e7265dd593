-- A feed without a log and without partitions; see ledger_watermark(). The longest request that any
-- process registered counts: one with a longer limit may still be running. Only a feed that an
-- operator retired has no process left and starts again.
INSERT INTO {schema}.ledger_feeds AS known (ledger, consumer_group, topic, longest_request)
VALUES ($1::integer, $2, $3, $4::interval)
ON CONFLICT (ledger, consumer_group, topic) DO UPDATE SET
    longest_request = CASE WHEN known.retired_at IS NULL
        THEN greatest(known.longest_request, excluded.longest_request)
        ELSE excluded.longest_request END,
    retired_at = NULL
RETURNING source
