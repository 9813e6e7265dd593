-- The tables that a conversion makes belong to the schema's owner, as all of a ledger's do. Fails
-- with 42501 unless the session's role is that owner, or a member of it.
SELECT set_config('role', pg_get_userbyid(c.relowner), false),
    set_config('statement_timeout', '0', false)
FROM pg_class c WHERE c.oid = '{schema}.ledgers'::regclass
