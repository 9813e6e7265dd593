-- sink_upsert for a batch that also removes rows ($2 says which message does): what comes before a
-- row's last removal is not written.
INSERT INTO {table} AS target ({columns})
SELECT {incoming} FROM (
    SELECT DISTINCT ON ({keys}) * FROM (
        SELECT *,
            max(position) FILTER (WHERE removes = 1) OVER (PARTITION BY {keys}) AS last_removal
        FROM ROWS FROM (unnest($1::{table}[]), unnest($2::integer[])) WITH ORDINALITY
            AS incoming ({aliases}, removes, position)
    ) AS incoming
    WHERE last_removal IS NULL OR position > last_removal
    ORDER BY {keys}, {newest}
) AS incoming
ON CONFLICT ({target}) DO {action}
