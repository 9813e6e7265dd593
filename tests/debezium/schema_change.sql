-- A column more, one of another type, and one less; and changes after it.
ALTER TABLE items ADD COLUMN note text DEFAULT 'none', ADD COLUMN checked_at timestamptz;
ALTER TABLE items ALTER COLUMN amount TYPE numeric(14, 4);
ALTER TABLE items DROP COLUMN letters;
INSERT INTO items (id, amount, note, checked_at, tags) VALUES
    (30, 1.2345, 'new', '2024-06-01 00:00:00.123456+00', '{x}'),
    (31, 1.5, NULL, NULL, NULL);
UPDATE items SET amount = 7.6543, note = 'changed' WHERE id = 1;
DELETE FROM items WHERE id = 31;
