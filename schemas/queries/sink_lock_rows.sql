-- All rows that a batch with removals will touch, locked in one order: it deletes and upserts in two statements, and two
-- workers must not wait for each other.
SELECT 1 FROM {table} AS target
WHERE ({target_keys}) IN (SELECT {keys} FROM unnest($1::{table}[]) AS incoming ({aliases}))
ORDER BY {target_keys} FOR UPDATE OF target
