-- The first key is Onceward's own class, so that this lock never collides with one of the user's
-- tools (rotate_ledger() uses the same).
SELECT pg_advisory_xact_lock_shared(1330524999, $1::integer)
