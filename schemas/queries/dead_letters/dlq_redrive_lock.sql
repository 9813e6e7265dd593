-- One redrive of a topic at a time: marks that this one finds were left by an interrupted one. The
-- lock ends with the session.
SELECT pg_try_advisory_lock(hashtextextended(format('onceward redrive {schema} %L %L', $1::text,
    $2::text), 0))
