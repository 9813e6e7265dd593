DELETE FROM {table} AS target
WHERE ({target_keys}) IN (
    SELECT {keys} FROM ROWS FROM (unnest($1::{table}[]), unnest($2::integer[]))
        AS incoming ({aliases}, removes)
    WHERE removes = 1)
