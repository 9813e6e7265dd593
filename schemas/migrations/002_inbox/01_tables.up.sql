-- The inbox: any program claims keys in its own transaction, through SQL alone. The functions
-- work on the tables of `table` and `lease` ledgers, so a key that a worker, a route or once()
-- has claimed is known here, and the other way round. docs/inbox.md describes them.
--
-- SQLSTATEs of the inbox. None of them leaves a claim.
--   OW001  the transaction's isolation level is not READ COMMITTED
--   OW002  the ledger has no inbox, or its store does not fit the function
--   OW003  the role may not use this ledger or operation
--   OW004  an argument is missing or not valid
--   OW005  COMMIT of a claim that has no result, in a ledger that stores results
--   OW006  finish() of a key that this transaction has not claimed
--   OW007  the result is larger than the ledger allows
--   55P03  another transaction holds the key, or the ledger, for longer than the wait
--   40001  try the transaction again

ALTER TABLE {schema}.ledgers
    ADD COLUMN max_result_bytes integer NOT NULL DEFAULT 65536;
COMMENT ON COLUMN {schema}.ledgers.max_result_bytes IS
    'Most bytes of headers and body that finish() and end_lease() store for a key.';
COMMENT ON COLUMN {schema}.claims.record_offset IS
    'Of a claim by the inbox, whose partition is -1, the transaction that made it.';

CREATE TABLE {schema}.inbox_grants (
    grantee name NOT NULL,
    ledger text NOT NULL,
    operation text NOT NULL DEFAULT '*',
    granted_by text NOT NULL DEFAULT session_user,
    granted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT inbox_grants_key PRIMARY KEY (grantee, ledger, operation)
);
COMMENT ON TABLE {schema}.inbox_grants IS
    'Which role may use the inbox of which ledger, for which operation (`*`: any).';

CREATE TYPE {schema}.claim_answer AS (
    outcome text,
    digest uuid,
    attempt uuid,
    mine boolean,
    status integer,
    headers jsonb,
    body bytea,
    stored_at timestamptz
);
COMMENT ON TYPE {schema}.claim_answer IS
    'outcome: fresh, duplicate, failed, conflict, unknown or expired. mine: the stored result is '
    'of this attempt, whose COMMIT had no answer.';

-- The version of these functions. Packages compare it with the one that they were written for.
CREATE FUNCTION {schema}.inbox_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';
