-- The partitions of a group that the process with this id has taken, those that have committed, and
-- the messages that have passed.
SELECT count(*) FILTER (WHERE epoch > 0 AND owner_name LIKE '%:' || $2 || '/%'),
    count(*) FILTER (WHERE next_offset > first_offset),
    coalesce(sum(next_offset - first_offset), 0)::bigint
FROM {schema}.fences WHERE consumer_group = $1
