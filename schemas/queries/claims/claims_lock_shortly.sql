-- The ledger's lock as in claims_lock_shared, and then the limits of a transaction that is tried
-- once and done with care after that. In this order: they limit no wait for the lock.
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(1330524999, $1::integer))
SELECT set_config('lock_timeout', $2, true), set_config('statement_timeout', $3, true) FROM locked
