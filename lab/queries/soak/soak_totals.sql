SELECT coalesce(sum(applied), 0)::bigint, coalesce(sum(duplicates), 0)::bigint,
    coalesce(sum(next_offset - first_offset), 0)::bigint
FROM onceward.fences
