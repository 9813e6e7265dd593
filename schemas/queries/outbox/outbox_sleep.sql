-- Refused while a transaction is under way that wrote rows and will not notify.
SELECT pg_try_advisory_lock(
    hashtextextended(format('onceward outbox sleeps {schema} %L', $1::text), 0))
