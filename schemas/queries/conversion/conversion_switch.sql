-- The ledger's store becomes `log`: the segments of all generations are published, the tables are
-- dropped, and the log's first generation is opened. Run it with the ledger's exclusive lock held,
-- after conversion_check. The open generation's segment has no filter yet: until it is written,
-- each key is looked up in its blocks.
DO $$
DECLARE
    numbers bigint[] := '{generations}'::bigint[] || {open}::bigint;
    held bigint[] := '{claims}';
    bits integer[] := '{bits}'::integer[] || 0;
    called text;
    one bigint;
    first_one bigint;
    last_one bigint;
    highest bigint := 0;
BEGIN
    DROP INDEX {schema}.batches_{ledger}_{open}_of;
    held := held || (SELECT coalesce(sum(length(digests)), 0) / 16
        FROM {schema}.sealed_{ledger}_{open});
    FOR at IN 1 .. cardinality(numbers) LOOP
        EXECUTE format('SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) '
            'FROM {schema}.batches_%s_%s', {ledger}, numbers[at]) INTO first_one, last_one;
        INSERT INTO {schema}.segments (ledger, generation, first_seq, last_seq, claims, shard_bits)
            VALUES ({ledger}, numbers[at], first_one, last_one, held[at], bits[at]);
        EXECUTE format('COMMENT ON TABLE {schema}.batches_%s_%s IS NULL', {ledger}, numbers[at]);
        highest := greatest(highest, last_one);
    END LOOP;
    UPDATE {schema}.ledgers SET store = 'log', reach = 'global',
            log_floor = greatest(log_floor, highest)
        WHERE ledger = {ledger} RETURNING name INTO called;
    -- DANGER: drop the tables before the rotation, which would take the last one for a log's table.
    FOREACH one IN ARRAY numbers LOOP
        EXECUTE format('DROP TABLE {schema}.claims_%s_%s', {ledger}, one);
    END LOOP;
    PERFORM {schema}.rotate_ledger({ledger}, {open});
    PERFORM {schema}.record_act('ledger convert', 'ledger ' || called, '', 'done',
        jsonb_build_object('to', 'log', 'segments', cardinality(numbers), 'claims',
            (SELECT sum(claims) FROM unnest(held) AS segment (claims))));
    PERFORM set_config('onceward.converted', held[cardinality(held)]::text, false);
END
$$
