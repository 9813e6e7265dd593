-- Step by step, fence_hold has locked and compared the rows before. DANGER: in one round trip
-- (fence_advance_all) nothing has. There these comparisons are the only ones.
UPDATE {schema}.fences AS f SET
    next_offset = move.end_offset,
    -- DANGER: store the epoch of the new offset even if it is not known (-1). With an older one
    -- librdkafka would place the offset after the end of a truncated log.
    leader_epoch = CASE WHEN move.end_offset > move.begin_offset THEN move.leader_epoch
        ELSE f.leader_epoch END,
    applied = f.applied + move.applied,
    duplicates = f.duplicates + move.duplicates,
    conflicts = f.conflicts + move.conflicts,
    dead_lettered = f.dead_lettered + move.dead_lettered,
    skipped = f.skipped + move.skipped,
    moved_at = now()
FROM unnest($3::integer[], $4::bigint[], $5::uuid[], $6::bigint[], $7::integer[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
    AS move (partition, begin_offset, owner, end_offset, leader_epoch, applied, duplicates,
        conflicts, dead_lettered, skipped)
WHERE f.consumer_group = $1 AND f.topic = $2 AND f.partition = move.partition
    AND f.owner = move.owner AND f.next_offset = move.begin_offset
