-- Takes the ledger's lock as claims_lock_shared does. Then sets the limits of a transaction that is
-- tried once, and processed step by step after that. The order matters: the limits do not apply to
-- the wait for the lock.
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(1330524999, $1::integer))
SELECT set_config('lock_timeout', $2, true), set_config('statement_timeout', $3, true) FROM locked
