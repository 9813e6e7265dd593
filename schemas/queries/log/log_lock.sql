-- The first key is Onceward's own class; the ledger's rotation takes the same lock.
-- DANGER: take the lock in a statement of its own, at the transaction's top level. A read in the
-- same statement would have a snapshot from before the lock, and the end of a savepoint would
-- release the lock.
SELECT pg_advisory_xact_lock(1330524999, $1::integer)
