-- A number of 64 bits from a text of ours, so that no ledger of another schema shares it.
SELECT pg_try_advisory_lock(hashtextextended('onceward retention {schema} ' || $1, 0))
