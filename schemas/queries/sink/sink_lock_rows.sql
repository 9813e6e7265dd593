-- All rows that a batch with removals will touch, locked in one order: it deletes and upserts in
-- two statements, and two workers should not wait for each other. A row that one of them removes
-- and inserts again can still cause 40P01, after which the batch is tried again.
SELECT 1 FROM {table} AS target
WHERE ({target_keys}) IN (SELECT {keys} FROM unnest($1::{table}[]) AS incoming ({aliases}))
ORDER BY {target_keys} FOR UPDATE OF target
