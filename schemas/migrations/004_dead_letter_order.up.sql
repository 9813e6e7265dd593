-- Which dead letters are still open, by record key: with `order: by_key` what follows one goes
-- behind it. Existing ones are open. The index is built under a lock that holds up new ones.
ALTER TABLE {schema}.dead_letters ADD COLUMN resolved_at timestamptz;
COMMENT ON COLUMN {schema}.dead_letters.resolved_at IS
    'Set by an operator, or by a rewind that reads the message again; null while it is open.';
CREATE INDEX dead_letters_open ON {schema}.dead_letters
    (consumer_group, topic, sha256(record_key), dead_letter)
    WHERE resolved_at IS NULL AND record_key IS NOT NULL;

-- Whoever may write dead letters is a worker's role: a message that is rejected again after a
-- rewind opens its dead letter again.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.dead_letters'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT UPDATE (resolved_at) ON {schema}.dead_letters TO %s', entry.grantee);
    END LOOP;
END
$$;
