-- The keys after the last one; $2 has the key's own type and order.
SELECT wanted.key::text FROM ({query}) AS wanted (key) WHERE wanted.key > $2
ORDER BY wanted.key LIMIT $1::integer
