SELECT pg_advisory_unlock(
    hashtextextended(format('onceward outbox sleeps {schema} %L', $1::text), 0))
