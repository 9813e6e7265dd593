-- Kafka certainly has no copy of these: they are as they were before the redrive, and with `order:
-- by_key` hold back later messages of their record keys again.
UPDATE {schema}.dead_letters SET resolved_at = NULL, redrive_began_at = NULL
WHERE dead_letter = ANY ($1::bigint[]) AND redriven_at IS NULL
