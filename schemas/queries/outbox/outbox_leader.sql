-- The session holds this lock for as long as it lives: one relay for each group.
SELECT pg_try_advisory_lock(hashtextextended(format('onceward outbox {schema} %L', $1::text), 0))
