-- What retention does with expired generations (unlist_expired()), but for the watermark, which
-- takes hours to pass: under the same lock, in one transaction of these two statements.
SELECT pg_advisory_xact_lock(1330524999, ledger) FROM {schema}.ledgers;
DELETE FROM {schema}.generations WHERE sealed_at IS NOT NULL RETURNING generation
