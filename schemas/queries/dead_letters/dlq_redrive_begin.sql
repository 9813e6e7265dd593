-- Resolved from here on, so that with `order: by_key` the copies do not wait for their originals.
-- The first mark stays: the claim of the first copy is the oldest one, and expires first.
UPDATE {schema}.dead_letters SET redrive_began_at = coalesce(redrive_began_at, now()),
    redriven_at = NULL, resolved_at = coalesce(resolved_at, now())
WHERE dead_letter = ANY ($1::bigint[])
