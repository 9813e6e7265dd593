-- Every act of an operator: who, what, why, from where, when and with which outcome. A row is
-- written in the transaction of its act, so that there is neither without the other. Rows are only
-- added: no role but the schema's owner may change or delete one.
CREATE TABLE {schema}.audit_log (
    entry bigint GENERATED ALWAYS AS IDENTITY,
    acted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    database_role text NOT NULL DEFAULT session_user,
    who text,
    role text,
    way text NOT NULL,
    host text,
    address inet,
    act text NOT NULL,
    command text,
    target text NOT NULL,
    reason text NOT NULL,
    outcome text NOT NULL,
    details jsonb NOT NULL,
    CONSTRAINT audit_log_key PRIMARY KEY (entry)
);
CREATE INDEX audit_log_by_time ON {schema}.audit_log (acted_at);
COMMENT ON COLUMN {schema}.audit_log.database_role IS
    'The role that the session logged in as: the server vouches for it. Who, role, way, host, '
    'address and command are what the session said in the setting onceward.actor.';
COMMENT ON COLUMN {schema}.audit_log.who IS
    'The user of the operating system, the name of a token or the subject of a certificate; null '
    'if the act was plain SQL.';
COMMENT ON COLUMN {schema}.audit_log.role IS 'At the admin port: operate. Null elsewhere.';
COMMENT ON COLUMN {schema}.audit_log.way IS 'command, admin port or sql.';
COMMENT ON COLUMN {schema}.audit_log.host IS
    'Where the command ran; for the admin port the process that took the request.';
COMMENT ON COLUMN {schema}.audit_log.address IS
    'Of the client of the admin port; else of the session with the server. Null: a local socket.';
COMMENT ON COLUMN {schema}.audit_log.act IS 'What was done, as the commands are named.';
COMMENT ON COLUMN {schema}.audit_log.command IS 'The words of the command, without secrets.';
COMMENT ON COLUMN {schema}.audit_log.outcome IS
    'done; began, for what takes more than one transaction, which has another row at its end; '
    'ended, where somebody ended it; incomplete.';

-- Adds a row. Who acts and from where is what the session has said of itself.
CREATE FUNCTION {schema}.record_act(act text, target text, reason text, outcome text,
    details jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said jsonb := coalesce(nullif(current_setting('onceward.actor', true), ''), '{}')::jsonb;
BEGIN
    INSERT INTO {schema}.audit_log (who, role, way, host, address, act, command, target, reason,
        outcome, details)
    VALUES (said ->> 'who', said ->> 'role', coalesce(said ->> 'way', 'sql'), said ->> 'host',
        coalesce((said ->> 'address')::inet, inet_client_addr()), record_act.act,
        said ->> 'command', record_act.target,
        coalesce(nullif(record_act.reason, ''), said ->> 'reason', ''), record_act.outcome,
        coalesce(record_act.details, '{}'));
END
$$;
REVOKE EXECUTE ON FUNCTION {schema}.record_act(text, text, text, text, jsonb) FROM PUBLIC;

-- Roles that work with this schema already may add rows, and those of operators may read them.
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT r.rolname, p.proname FROM pg_proc p, aclexplode(p.proacl) AS a
            JOIN pg_roles r ON r.oid = a.grantee
        WHERE p.oid IN ('{schema}.rotate_ledger(integer, bigint)'::regprocedure,
                '{schema}.discard_dead_letters(bigint[], text)'::regprocedure)
            AND a.grantee <> p.proowner
    LOOP
        IF found.proname = 'rotate_ledger' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION '
                '{schema}.record_act(text, text, text, text, jsonb) TO %I', found.rolname);
        ELSE
            EXECUTE format('GRANT SELECT ON {schema}.audit_log TO %I', found.rolname);
        END IF;
    END LOOP;
END
$$;
