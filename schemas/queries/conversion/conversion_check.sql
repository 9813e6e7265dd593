-- Fails with 40001 unless the ledger is as it was when its generations were listed: the sealed
-- ones, the open one, and the last claim that was removed from each. It also fails unless the open
-- one is still small. Run it with the ledger's exclusive lock held, in a statement after the
-- lock's.
DO $$
BEGIN
    -- A process that registers another feed holds this row until its end.
    PERFORM FROM {schema}.ledgers l WHERE l.ledger = {ledger} AND l.store = 'table'
        AND NOT l.stores_results FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM {schema}.ledger_feeds f WHERE f.ledger = {ledger}
            AND f.retired_at IS NULL AND f.longest_request IS NOT NULL)
        OR (SELECT array_agg(g.generation ORDER BY g.generation)
                FILTER (WHERE g.sealed_at IS NOT NULL)
                    IS DISTINCT FROM nullif('{generations}'::bigint[], '{}')
                OR max(g.generation) FILTER (WHERE g.sealed_at IS NULL) IS DISTINCT FROM {open}
                OR array_agg((SELECT coalesce(max(e.eviction), 0) FROM {schema}.evictions e
                        WHERE e.ledger = g.ledger AND e.generation = g.generation)
                    ORDER BY g.generation) FILTER (WHERE g.sealed_at IS NOT NULL)
                    IS DISTINCT FROM nullif('{last_evictions}'::bigint[], '{}')
            FROM {schema}.generations g WHERE g.ledger = {ledger}) THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = 'the ledger has changed since its generations were listed';
    END IF;
    -- All claims of the ledger wait while a segment is made of these.
    IF (SELECT count(*) FROM (SELECT FROM {schema}.claims_{ledger}_{open}
            LIMIT {most_open} + 1) AS few) > {most_open} THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = 'the open generation has grown too large for the switch';
    END IF;
END
$$
