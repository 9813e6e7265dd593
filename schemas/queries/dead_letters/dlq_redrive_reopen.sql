-- Of these Kafka has no copy for certain: they stand as they did before the redrive, and with
-- `order: by_key` hold up again what comes under their record keys.
UPDATE {schema}.dead_letters SET resolved_at = NULL, redrive_began_at = NULL
WHERE dead_letter = ANY ($1::bigint[]) AND redriven_at IS NULL
