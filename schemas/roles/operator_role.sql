-- What all commands of an operator need: `onceward pause`, `resume`, `offsets`, `groups`,
-- `explain`, `dlq`, `forget`, `retention` with `--run-once`, `replay` and `import`. No DELETE, no
-- TRUNCATE, no CREATE.
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT ON {schema}.schema_migrations, {schema}.generations, {schema}.segments,
    {schema}.segment_parts, {schema}.ledgers, {schema}.claims, {schema}.dead_letters TO {role};
GRANT UPDATE (resolved_at, redrive_began_at, redriven_at) ON {schema}.dead_letters TO {role};
-- `replay` and `import` claim as a worker does, and a step of retention seals logs.
-- DANGER: a later migration that grants its new tables to existing roles must not take a role with
-- INSERT on dead_letters for a worker: operators would get a worker's rights. EXECUTE on
-- remove_sent tells the two apart.
GRANT INSERT ON {schema}.claims, {schema}.dead_letters, {schema}.outbox, {schema}.replays,
    {schema}.ledger_feeds TO {role};
GRANT INSERT, UPDATE ON {schema}.ledgers, {schema}.imports TO {role};
GRANT EXECUTE ON FUNCTION {schema}.rotate_ledger(integer, bigint),
    {schema}.ledger_watermark(integer), {schema}.unlist_expired(integer),
    {schema}.drop_generation(integer, bigint), {schema}.orphaned_generations(integer),
    {schema}.begin_segment(integer, bigint),
    {schema}.begin_merge(integer, bigint, bigint),
    {schema}.publish_merge(integer, bigint, bigint, bigint, integer, bigint, integer),
    {schema}.orphaned_merges(integer), {schema}.drop_orphaned_merge(integer, text),
    {schema}.publish_segment(integer, bigint, bigint, bigint, integer),
    {schema}.begin_segment_of_partitions(integer, bigint),
    {schema}.publish_segment_of_partitions(integer, bigint, bigint, integer[], integer[], bigint[],
        integer[], integer[]),
    {schema}.drop_sealed_log(integer, bigint), {schema}.begin_results(integer),
    {schema}.delete_ended_leases(integer, integer), {schema}.finish_replay(bigint),
    {schema}.holders(text), {schema}.clock_skew(interval) TO {role};
GRANT SELECT ON {schema}.discarded_dead_letters, {schema}.evictions, {schema}.erasures,
    {schema}.imports, {schema}.outbox, {schema}.leases, {schema}.replays TO {role};
GRANT EXECUTE ON FUNCTION {schema}.discard_dead_letters(bigint[], text),
    {schema}.evict_claims(integer, uuid[], text), {schema}.count_results(integer, bytea),
    {schema}.erase_results(integer, bytea, text), {schema}.evict_leases(integer, uuid[], text),
    {schema}.free_failed_leases(bigint[]), {schema}.end_replay(bigint),
    {schema}.record_act(text, text, text, text, jsonb) TO {role};
GRANT SELECT ON {schema}.audit_log TO {role};
SELECT {schema}.record_act('grant operator',
    'role ' || $role${role}$role$::regrole, '', 'done', '{}');
GRANT SELECT, INSERT ON {schema}.skipped_ranges, {schema}.fence_moves TO {role};
GRANT SELECT, UPDATE ON {schema}.ledger_feeds, {schema}.partition_suspects TO {role};
GRANT SELECT, INSERT, UPDATE ON {schema}.fences, {schema}.topic_pauses TO {role};
-- Generations that were made before this role.
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS generation FROM pg_class c, pg_class pattern
        WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
            AND c.relkind = 'r'
            AND c.relname ~ '^(claims|sealed|filters|batches|results)_[0-9]+_[0-9]+(m[0-9]+)?$'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT ON %s TO %s', found.generation, $role${role}$role$);
    END LOOP;
END
$$;
