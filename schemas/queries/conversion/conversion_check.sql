-- Fails with 40001 unless the ledger is as it was when its generations were listed: sealed ones,
-- the open one, and how many claims were taken out of each. With the ledger's exclusive lock held,
-- in a statement after the lock's.
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
                OR array_agg((SELECT count(*) FROM {schema}.evictions e
                        WHERE e.ledger = g.ledger AND e.generation = g.generation)
                    ORDER BY g.generation) FILTER (WHERE g.sealed_at IS NOT NULL)
                    IS DISTINCT FROM nullif('{taken_out}'::bigint[], '{}')
            FROM {schema}.generations g WHERE g.ledger = {ledger}) THEN
        RAISE EXCEPTION USING ERRCODE = '40001',
            MESSAGE = 'the ledger has changed since its generations were listed';
    END IF;
END
$$
