-- The tables of generations first: they are made while the workers run, so no list here can name
-- them.
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS part FROM pg_class c, pg_class pattern
        WHERE pattern.oid = '{schema}.claims'::regclass AND c.relnamespace = pattern.relnamespace
            AND c.relkind = 'r'
            AND c.relname ~ '^(claims|sealed|filters|batches|results)_[0-9]+_[0-9]+$'
    LOOP
        EXECUTE format('DROP TABLE %s', found.part);
    END LOOP;
END
$$;
-- The triggers go with their tables, so the functions come last.
DROP TABLE {schema}.leases, {schema}.replays, {schema}.imports, {schema}.evictions,
    {schema}.topic_pauses, {schema}.erasures, {schema}.results, {schema}.segment_batches,
    {schema}.segment_filters, {schema}.segment_blocks, {schema}.segment_parts, {schema}.segments,
    {schema}.outbox, {schema}.discarded_dead_letters, {schema}.dead_letters,
    {schema}.partition_suspects, {schema}.fence_moves, {schema}.skipped_ranges, {schema}.fences,
    {schema}.claim_batches, {schema}.claims, {schema}.generations, {schema}.ledger_feeds,
    {schema}.ledgers;
DROP FUNCTION {schema}.clock_skew(interval), {schema}.delete_ended_leases(integer, integer),
    {schema}.orphaned_generations(integer), {schema}.drop_generation(integer, bigint),
    {schema}.unlist_expired(integer), {schema}.ledger_watermark(integer),
    {schema}.free_failed_leases(bigint[]), {schema}.evict_leases(integer, uuid[], text),
    {schema}.delete_results(integer, uuid[]), {schema}.end_replay(bigint),
    {schema}.finish_replay(bigint), {schema}.evict_claims(integer, uuid[], text),
    {schema}.take_out_claim(integer, bigint, uuid), {schema}.result_of_evicted_claim(),
    {schema}.erase_results(integer, bytea, text), {schema}.count_results(integer, bytea),
    {schema}.results_of_new_generation(), {schema}.begin_results(integer),
    {schema}.create_results(integer, bigint), {schema}.drop_sealed_log(integer, bigint),
    {schema}.publish_segment_of_partitions(integer, bigint, bigint, integer[], integer[], bigint[],
        integer[], integer[]),
    {schema}.begin_segment_of_partitions(integer, bigint),
    {schema}.publish_segment(integer, bigint, bigint, bigint, integer),
    {schema}.begin_segment(integer, bigint), {schema}.rotate_ledger(integer, bigint),
    {schema}.create_generation(integer, bigint), {schema}.grant_as_claims(text),
    {schema}.remove_sent(text, text[], bigint[], uuid[]),
    {schema}.discard_dead_letters(bigint[], text);
