-- What a worker was most likely fetching when its process ran out of memory. While the fence stands
-- at `next_offset` the partition halts instead of being read; an operator clears the row.
CREATE TABLE {schema}.partition_suspects (
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    next_offset bigint NOT NULL,
    resident_bytes bigint NOT NULL,
    budget_bytes bigint NOT NULL,
    suspected_at timestamptz NOT NULL DEFAULT now(),
    cleared_at timestamptz,
    CONSTRAINT partition_suspects_key PRIMARY KEY (consumer_group, topic, partition)
);

-- Whoever may write dead letters is a worker's role, whoever may end a pause an operator's: an
-- upgrade needs no new grants.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee,
            CASE a.privilege_type WHEN 'INSERT' THEN 'SELECT, INSERT, UPDATE'
                ELSE 'SELECT, UPDATE' END AS rights
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE a.grantee <> c.relowner
            AND (c.oid, a.privilege_type) IN (('{schema}.dead_letters'::regclass, 'INSERT'),
                ('{schema}.topic_pauses'::regclass, 'UPDATE'))
    LOOP
        EXECUTE format('GRANT %s ON {schema}.partition_suspects TO %s', entry.rights,
            entry.grantee);
    END LOOP;
END
$$;
