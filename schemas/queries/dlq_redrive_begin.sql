-- Resolved from here on, so that with `order: by_key` the copies do not go behind their originals.
UPDATE {schema}.dead_letters SET redrive_began_at = now(), redriven_at = NULL,
    resolved_at = coalesce(resolved_at, now())
WHERE dead_letter = ANY ($1::bigint[])
