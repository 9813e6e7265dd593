-- What conflicts with a claim: place among the requested ones, state (0 in flight, 1 done, 2
-- failed), whether it belongs to this very message, whether the fence has counted it, the rest of
-- the lease in milliseconds, fingerprint, and where it came from.
SELECT wanted.place, CASE known.state WHEN 'in_flight' THEN 0 WHEN 'done' THEN 1 ELSE 2 END,
    coalesce((known.source = $2::integer AND known.partition = wanted.partition
        AND known.record_offset = wanted.record_offset
        AND known.identity = coalesce(nullif(fence.topic_id, ''), fence.incarnation::text))
        ::integer, 0),
    known.counted::integer,
    greatest(0, (extract(epoch FROM known.lease_until - clock_timestamp()) * 1000)::bigint),
    known.fingerprint, feed.consumer_group, feed.topic, known.partition, known.record_offset
FROM unnest($5::uuid[], $6::integer[], $7::bigint[]) WITH ORDINALITY
    AS wanted (digest, partition, record_offset, place)
    JOIN {schema}.leases AS known ON known.ledger = $1::integer AND known.digest = wanted.digest
    LEFT JOIN {schema}.ledger_feeds AS feed ON feed.source = known.source
    LEFT JOIN {schema}.fences AS fence ON fence.consumer_group = $3 AND fence.topic = $4
        AND fence.partition = wanted.partition
