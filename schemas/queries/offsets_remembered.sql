-- Claims of a partition are made in the order of its offsets: where the oldest generation holds one
-- from here or below, all that was claimed above it is held too.
SELECT EXISTS (SELECT FROM {schema}.{table} c JOIN {schema}.ledger_feeds s USING (source)
    WHERE s.consumer_group = $1 AND s.topic = $2 AND c.partition = $3::integer
        AND c.record_offset <= $4::bigint)
