-- Where batches of a log came from; {table} is its generation, or what its segment keeps of them.
SELECT b.seq, f.consumer_group, f.topic, place.partition, place.first_offset, place.last_offset
FROM {schema}.{table} b LEFT JOIN {schema}.ledger_feeds f USING (source)
    CROSS JOIN unnest(b.partitions, b.first_offsets, b.last_offsets)
        AS place (partition, first_offset, last_offset)
WHERE b.seq = ANY ($1::bigint[])
ORDER BY b.seq, place.partition
