-- Nobody may call anything of the inbox but the roles that grant_inbox() names.
DO $$
DECLARE
    made text;
BEGIN
    FOR made IN SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = (SELECT c.relnamespace FROM pg_class c
            WHERE c.oid = '{schema}.ledgers'::regclass)
    LOOP
        EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || made || ' FROM PUBLIC';
    END LOOP;
END
$$;

-- Roles that seal and expire already may see who holds a ledger up.
DO $$
DECLARE
    worker text;
BEGIN
    FOR worker IN SELECT r.rolname FROM pg_proc p, aclexplode(p.proacl) AS a
            JOIN pg_roles r ON r.oid = a.grantee
        WHERE p.oid = '{schema}.rotate_ledger(integer, bigint)'::regprocedure
            AND a.grantee <> p.proowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.holders(text) TO %I', worker);
    END LOOP;
END
$$;

-- Gives a role the inbox of a ledger, for one operation or for all (`*`). It gets the functions and
-- no right on any table. Only the schema's owner may call this.
CREATE FUNCTION {schema}.grant_inbox(grantee name, ledger text, operation text DEFAULT '*')
    RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    made text;
BEGIN
    IF (ledger <> '' AND operation <> '') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'OW004', MESSAGE = 'a ledger and an operation are needed';
    END IF;
    INSERT INTO {schema}.inbox_grants (grantee, ledger, operation)
        VALUES (grant_inbox.grantee, grant_inbox.ledger, grant_inbox.operation)
        ON CONFLICT DO NOTHING;
    EXECUTE format('GRANT USAGE ON SCHEMA {schema} TO %I', grantee);
    FOR made IN SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = (SELECT c.relnamespace FROM pg_class c
                WHERE c.oid = '{schema}.ledgers'::regclass)
            AND p.proname IN ('inbox_version', 'key_digest', 'fingerprint', 'stamped',
                'downstream_key', 'register_ledger', 'claim', 'claim_many', 'finish',
                'finish_many', 'lease', 'end_lease', 'extend_lease', 'release_lease', 'expire',
                'holders', 'forget')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', made, grantee);
    END LOOP;
    -- The functions of a ledger have its roles in their texts.
    PERFORM {schema}.write_inbox(i.ledger) FROM {schema}.inboxes i
        WHERE i.name = grant_inbox.ledger;
END
$$;
-- Takes a role's right to a ledger, for one operation or for `*`, back.
CREATE FUNCTION {schema}.revoke_inbox(grantee name, ledger text, operation text DEFAULT '*')
    RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM {schema}.inbox_grants g WHERE g.grantee = revoke_inbox.grantee
        AND g.ledger = revoke_inbox.ledger AND g.operation = revoke_inbox.operation;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM {schema}.write_inbox(i.ledger) FROM {schema}.inboxes i
        WHERE i.name = revoke_inbox.ledger;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.revoke_inbox(name, text, text),
    {schema}.grant_inbox(name, text, text) FROM PUBLIC;
