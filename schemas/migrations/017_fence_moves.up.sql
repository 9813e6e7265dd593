-- Each move of a fence by hand (`onceward offsets --set`, `offsets skip`): where from and to, why,
-- and who said so. What a move passes unread is in skipped_ranges too, from here on with its role.
CREATE TABLE {schema}.fence_moves (
    fence_move bigint GENERATED ALWAYS AS IDENTITY,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    from_offset bigint,
    to_offset bigint NOT NULL,
    new_log boolean NOT NULL,
    reason text NOT NULL,
    moved_by text NOT NULL DEFAULT session_user,
    moved_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT fence_moves_key PRIMARY KEY (fence_move),
    CONSTRAINT fence_moves_reason_said CHECK (reason <> '')
);
COMMENT ON COLUMN {schema}.fence_moves.from_offset IS 'Null: there was no fence.';
COMMENT ON COLUMN {schema}.fence_moves.new_log IS
    'The topic was made again, and the fence counts in its new log from here on.';

-- In two steps: of the rows that are there nobody knows it.
ALTER TABLE {schema}.skipped_ranges ADD COLUMN skipped_by text;
ALTER TABLE {schema}.skipped_ranges ALTER COLUMN skipped_by SET DEFAULT session_user;
COMMENT ON COLUMN {schema}.skipped_ranges.skipped_by IS
    'The role: a worker''s for on_out_of_range. Null: from before migration 017.';

-- For workers' and operators' roles, which both move fences, as in 016.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC') AS grantee
        FROM pg_class c, aclexplode(c.relacl) AS a LEFT JOIN pg_roles r ON r.oid = a.grantee
        WHERE a.grantee <> c.relowner
            AND (c.oid, a.privilege_type) IN (('{schema}.dead_letters'::regclass, 'INSERT'),
                ('{schema}.topic_pauses'::regclass, 'UPDATE'))
    LOOP
        EXECUTE format('GRANT SELECT, INSERT ON {schema}.fence_moves TO %s', entry.grantee);
    END LOOP;
END
$$;
