-- How many rows of a table have each of these keys in one column, by its text; in the keys' order.
SELECT coalesce(found.number, 0)
FROM unnest($1::text[]) WITH ORDINALITY AS asked (key, place)
    LEFT JOIN (SELECT {column}::text AS key, count(*) AS number
               FROM {table} WHERE {column}::text = ANY ($1::text[]) GROUP BY 1) AS found
        ON found.key = asked.key
ORDER BY asked.place
