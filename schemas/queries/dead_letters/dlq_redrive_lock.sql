-- One redrive of a topic at a time: what this one finds marked, another one left behind. The lock
-- goes with the session.
SELECT pg_try_advisory_lock(hashtextextended(format('onceward redrive {schema} %L %L', $1::text,
    $2::text), 0))
