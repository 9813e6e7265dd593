-- Inserts, updates and deletes, which Debezium reads from the write-ahead log.
INSERT INTO items SELECT 10 + i, i / 7.0, i / 7.0, date '2000-02-28' + i,
    time '00:00' + i * interval '1 h', '00:00', timestamp '1999-12-31 23:00' + i * interval '1 h',
    '2000-01-01',
    timestamptz '1999-12-31 23:00+00' + i * interval '1 h', jsonb_build_object('i', i), '1', '\x00',
    NULL, array['t' || i, NULL], array[i], array[i], array[true], array[i / 2.0], array[i / 4.0],
    array[date '2000-01-01' + i], NULL, NULL, NULL, NULL, NULL, i, i, i, i, true, 'n' || i, 'abc',
    'ok', NULL
FROM generate_series(1, 5) i;
UPDATE items SET amount = amount + 1, document = '{"changed": true}', day = day - 1
    WHERE id IN (1, 11, 12);
UPDATE items SET tags = tags || 'more'::text, moment = NULL, raw = NULL WHERE id = 1;
BEGIN;
UPDATE items SET name = 'first' WHERE id = 13;
UPDATE items SET name = 'second' WHERE id = 13;
DELETE FROM items WHERE id = 14;
INSERT INTO items (id, name) VALUES (14, 'again');
COMMIT;
DELETE FROM items WHERE id = 12;
-- A new primary key: Debezium sends a delete and an insert.
UPDATE items SET id = 100 WHERE id = 3;
-- Large enough to be stored outside of its row, and then left as it is by an update.
INSERT INTO items (id, large, tags)
    SELECT 20, string_agg(md5(i::text), ''), array['a'] FROM generate_series(1, 200) i;
UPDATE items SET name = 'next to a large value' WHERE id = 20;
-- COPY writes many rows at one place of the log.
COPY items (id, name) FROM PROGRAM 'printf "40\\tp\\n41\\tq\\n"';
