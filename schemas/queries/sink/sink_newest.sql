-- Which messages of a batch are written by VALUES: for each row the newest one after the row's last
-- removal ($2 says which message removes). The rules are those of sink_upsert_after_removal, which
-- Citus would carry out by COPY.
SELECT DISTINCT ON ({keys}) position FROM (
    SELECT *, max(position) FILTER (WHERE removes = 1) OVER (PARTITION BY {keys}) AS last_removal
    FROM ROWS FROM (unnest($1::{table}[]), unnest($2::integer[])) WITH ORDINALITY
        AS incoming ({aliases}, removes, position)
) AS incoming
WHERE last_removal IS NULL OR position > last_removal
ORDER BY {keys}, {newest}
