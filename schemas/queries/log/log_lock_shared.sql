-- Appends of one partition need no order relative to those of others. An operation that chooses a
-- boundary in the log, such as a rotation, takes the same lock exclusively.
SELECT pg_advisory_xact_lock_shared(1330524999, $1::integer)
