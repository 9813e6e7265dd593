-- The first key is Onceward's own class; the ledger's rotation takes the same lock.
-- DANGER: a statement of its own, at the transaction's top level: what is read in the statement of
-- the lock has a snapshot from before it, and a savepoint's end would give the lock back.
SELECT pg_advisory_xact_lock(1330524999, $1::integer)
