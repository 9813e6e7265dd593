-- The tables in which acts by hand leave their own records write the audit log: whatever program or
-- session adds a row to one of them, the log has it from the same transaction.

-- The records of one act each. The first argument names the act.
CREATE FUNCTION {schema}.audit_record() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made jsonb := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
    act text := TG_ARGV[0];
    target text;
    outcome text := 'done';
BEGIN
    IF made ? 'ledger' THEN
        SELECT 'ledger ' || l.name INTO target FROM {schema}.ledgers l
            WHERE l.ledger = (made ->> 'ledger')::integer;
    ELSE
        target := concat_ws('/', made ->> 'consumer_group', made ->> 'topic', made ->> 'partition');
    END IF;
    IF made ->> 'resumed_at' IS NOT NULL THEN
        act := 'resume';
        made := made - 'reason';  -- that of the pause
    END IF;
    IF made ? 'finished_at' THEN
        outcome := CASE WHEN made ->> 'finished_at' IS NULL THEN 'began'
            WHEN made ->> 'ended_by' IS NOT NULL THEN 'ended' ELSE 'done' END;
        IF outcome = 'ended' THEN
            made := made - 'reason';  -- that of the beginning
        END IF;
    END IF;
    PERFORM {schema}.record_act(act, target, coalesce(made ->> 'reason', ''), outcome,
        jsonb_strip_nulls(made - ARRAY['reason', 'consumer_group', 'topic', 'partition', 'ledger',
            'evicted_by', 'evicted_at', 'erased_by', 'erased_at', 'moved_by', 'moved_at',
            'started_by', 'resumed_by', 'resumed_at', 'origin', 'position']));
    RETURN NULL;
END
$$;
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.topic_pauses
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('pause');
CREATE TRIGGER audited_update AFTER UPDATE ON {schema}.topic_pauses
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('pause');
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.evictions
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('forget');
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.erasures
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('forget tenant');
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.fence_moves
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('offsets move');
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.imports
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('import');
-- Not each page: an import that is continued sets it to null, and its end to a time.
CREATE TRIGGER audited_update AFTER UPDATE OF finished_at ON {schema}.imports
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('import');
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.replays
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('replay');
CREATE TRIGGER audited_update AFTER UPDATE OF finished_at ON {schema}.replays
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_record('replay');

-- Dead letters are discarded many at a time: one row for those of a topic.
CREATE FUNCTION {schema}.audit_discard() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}.record_act('dlq discard', d.consumer_group || '/' || d.topic, d.reason, 'done',
        jsonb_build_object('letters', count(*),
            'numbers', jsonb_agg(d.dead_letter ORDER BY d.dead_letter)))
    FROM discarded d GROUP BY d.consumer_group, d.topic, d.reason;
    RETURN NULL;
END
$$;
CREATE TRIGGER audited_insert AFTER INSERT ON {schema}.discarded_dead_letters
    REFERENCING NEW TABLE AS discarded
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.audit_discard();

-- What the schema's owner does: migrations, also by the script for psql, and rights to the inbox.
CREATE FUNCTION {schema}.audit_owner() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made jsonb := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
BEGIN
    IF TG_TABLE_NAME = 'inbox_grants' THEN
        PERFORM {schema}.record_act(
            CASE TG_OP WHEN 'DELETE' THEN 'revoke inbox' ELSE 'grant inbox' END,
            'role ' || quote_ident(made ->> 'grantee'), '', 'done', made - 'grantee');
    ELSE
        PERFORM {schema}.record_act(
            CASE TG_OP WHEN 'DELETE' THEN 'migrate down' ELSE 'migrate up' END,
            'migration ' || (made ->> 'number') || ' ' || (made ->> 'name'), '', 'done', '{}');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER audited AFTER INSERT OR DELETE ON {schema}.inbox_grants
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_owner();
CREATE TRIGGER audited AFTER INSERT OR DELETE ON {schema}.schema_migrations
    FOR EACH ROW EXECUTE FUNCTION {schema}.audit_owner();
REVOKE EXECUTE ON FUNCTION {schema}.audit_record(), {schema}.audit_discard(),
    {schema}.audit_owner() FROM PUBLIC;
