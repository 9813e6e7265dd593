-- All that a worker needs, and nothing more: no CREATE, no DELETE, no TRUNCATE, no right to drop.
-- The generations of claims copy the grants of the table `claims` when they are made.
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT ON {schema}.schema_migrations, {schema}.generations, {schema}.segments,
    {schema}.segment_parts, {schema}.topic_pauses, {schema}.evictions TO {role};
GRANT SELECT, INSERT, UPDATE ON {schema}.fences, {schema}.ledgers, {schema}.ledger_feeds,
    {schema}.partition_suspects, {schema}.imports, {schema}.leases TO {role};
GRANT SELECT, INSERT ON {schema}.claims, {schema}.dead_letters, {schema}.outbox,
    {schema}.skipped_ranges, {schema}.fence_moves, {schema}.replays TO {role};
GRANT UPDATE (resolved_at) ON {schema}.dead_letters TO {role};
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
    {schema}.remove_sent(text, text[], bigint[], uuid[]),
    {schema}.delete_ended_leases(integer, integer), {schema}.finish_replay(bigint),
    {schema}.end_replay(bigint), {schema}.holders(text), {schema}.clock_skew(interval),
    {schema}.record_act(text, text, text, text, jsonb) TO {role};
SELECT {schema}.record_act('grant worker',
    'role ' || $role${role}$role$::regrole, '', 'done', '{}');
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
