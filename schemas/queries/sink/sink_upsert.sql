-- Keeps one of several messages for a row, so that ON CONFLICT never meets its own row
-- (21000). The server compares the keys, with the column's own equality (1.0 and 1.00, blanks,
-- collations), and its order is the same in every worker.
INSERT INTO {table} AS target ({columns})
SELECT {incoming} FROM (
    SELECT DISTINCT ON ({keys}) *
    FROM unnest($1::{table}[]) WITH ORDINALITY AS incoming ({aliases}, position)
    ORDER BY {keys}, {newest}
) AS incoming
ON CONFLICT ({target}) DO {action}
