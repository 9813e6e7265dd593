-- The first keys of the user's query in the key's order. The query's first column is the key.
SELECT wanted.key::text FROM ({query}) AS wanted (key) WHERE wanted.key IS NOT NULL
ORDER BY wanted.key LIMIT $1::integer
