-- An empty list is written too, without its time: it holds everything back.
UPDATE {schema}.ledger_feeds SET
    partitions = $4::integer,
    watermark = CASE WHEN $4::integer > 0
        THEN greatest(watermark, timestamptz 'epoch' + $5::bigint * interval '1 microsecond')
        ELSE watermark END
WHERE ledger = $1::integer AND consumer_group = $2 AND topic = $3
