DROP TRIGGER audited ON {schema}.schema_migrations;
DROP TRIGGER audited ON {schema}.inbox_grants;
DROP TRIGGER audited_insert ON {schema}.discarded_dead_letters;
DROP TRIGGER audited_update ON {schema}.replays;
DROP TRIGGER audited_insert ON {schema}.replays;
DROP TRIGGER audited_update ON {schema}.imports;
DROP TRIGGER audited_insert ON {schema}.imports;
DROP TRIGGER audited_insert ON {schema}.fence_moves;
DROP TRIGGER audited_insert ON {schema}.erasures;
DROP TRIGGER audited_insert ON {schema}.evictions;
DROP TRIGGER audited_update ON {schema}.topic_pauses;
DROP TRIGGER audited_insert ON {schema}.topic_pauses;
DROP FUNCTION {schema}.audit_owner(), {schema}.audit_discard(), {schema}.audit_record(),
    {schema}.record_act(text, text, text, text, jsonb);
DROP TABLE {schema}.audit_log;
