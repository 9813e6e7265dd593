-- Appends of one partition need no order among others; what chooses a boundary in the log, as a
-- rotation does, takes the same lock exclusively.
SELECT pg_advisory_xact_lock_shared(1330524999, $1::integer)
