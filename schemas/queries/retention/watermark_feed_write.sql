-- An empty list of partitions is written too, without its time: it holds everything back. Kafka
-- never removes partitions: a smaller number comes from a broker that does not know of added ones
-- yet. If it were stored, their messages would not hold the claims that they need.
UPDATE {schema}.ledger_feeds SET
    partitions = CASE WHEN $4::integer > 0 THEN greatest(partitions, $4::integer) ELSE 0 END,
    watermark = CASE WHEN $4::integer > 0
        THEN greatest(watermark, timestamptz 'epoch' + $5::bigint * interval '1 microsecond')
        ELSE watermark END
WHERE ledger = $1::integer AND consumer_group = $2 AND topic = $3
