-- Topics that an operator has paused for a whole group. Workers look here every second and only
-- read; a pause that has ended stays, as a record of who stopped what and when.
CREATE TABLE {schema}.topic_pauses (
    topic_pause bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    reason text NOT NULL,
    paused_by text NOT NULL DEFAULT session_user,
    paused_at timestamptz NOT NULL DEFAULT now(),
    resumed_by text,
    resumed_at timestamptz,
    CONSTRAINT topic_pauses_key PRIMARY KEY (topic_pause)
);
CREATE UNIQUE INDEX topic_pauses_one_open ON {schema}.topic_pauses (consumer_group, topic)
    WHERE resumed_at IS NULL;

-- Whoever may read the generations is a worker's role: an upgrade needs no new --grant-to.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = '{schema}.generations'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON {schema}.topic_pauses TO %s', entry.grantee);
    END LOOP;
END
$$;
