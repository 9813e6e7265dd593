-- The lock is refused while a transaction is open that wrote rows and will not notify.
SELECT pg_try_advisory_lock(
    hashtextextended(format('onceward outbox sleeps {schema} %L', $1::text), 0))
