\set k random(1, 1000000000000000)
BEGIN;
SELECT place, (answer).outcome, (answer).digest FROM onceward.claim_many('count', '', 'id',
    ARRAY(SELECT 'key-' || :k || '-' || n FROM generate_series(1, 2000) AS n),
    ledger => 'bench_bare');
COMMIT;
