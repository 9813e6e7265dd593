-- What people write by hand: a key table with the result in the same row.
\set k random(1, 1000000000000000)
BEGIN;
INSERT INTO hand_keys (operation, key) VALUES ('pay', 'key-' || :k)
    ON CONFLICT DO NOTHING RETURNING 1;
INSERT INTO hand_orders (id, amount) VALUES (:k, 5);
UPDATE hand_keys SET status = 201, result = 'done' WHERE operation = 'pay' AND key = 'key-' || :k;
COMMIT;
