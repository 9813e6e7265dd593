-- Rows come as one array of the table's own row type: each of its fields carries its type, which
-- the server checks.
INSERT INTO {table} ({columns})
SELECT {incoming} FROM unnest($1::{table}[]) WITH ORDINALITY AS incoming ({aliases}, position)
ORDER BY position
