\set k random(1, 1000000000000000)
BEGIN;
SELECT outcome, digest, attempt
    FROM onceward.claim('pay', '', 'id', 'key-' || :k, ledger => 'bench') \gset
INSERT INTO inbox_orders (id, amount) VALUES (:k, 5);
SELECT onceward.finish(:digest::uuid, :attempt::uuid, 201, body => 'done', ledger => 'bench');
COMMIT;
