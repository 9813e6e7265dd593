SELECT coalesce(sum(next_offset - first_offset), 0)::bigint FROM {schema}.fences WHERE topic = $1
