-- The first keys of the user's query, whose first column is the key, in its order.
SELECT wanted.key::text FROM ({query}) AS wanted (key) WHERE wanted.key IS NOT NULL
ORDER BY wanted.key LIMIT $1::integer
