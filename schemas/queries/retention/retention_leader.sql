-- The key is 64 bits of a text that names our schema, so that no ledger of another schema shares
-- it.
SELECT pg_try_advisory_lock(hashtextextended('onceward retention {schema} ' || $1, 0))
