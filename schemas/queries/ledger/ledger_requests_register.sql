-- A feed without a log. Its partitions are none; see ledger_watermark(). The longest request of all
-- who were registered counts: one with a longer limit may still be running beside this one. Only a
-- feed that an operator retired has nobody left and begins anew.
INSERT INTO {schema}.ledger_feeds AS known (ledger, consumer_group, topic, longest_request)
VALUES ($1::integer, $2, $3, $4::interval)
ON CONFLICT (ledger, consumer_group, topic) DO UPDATE SET
    longest_request = CASE WHEN known.retired_at IS NULL
        THEN greatest(known.longest_request, excluded.longest_request)
        ELSE excluded.longest_request END,
    retired_at = NULL
RETURNING source
