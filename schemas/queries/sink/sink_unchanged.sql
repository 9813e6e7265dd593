-- Fails (22012) if the table is another one than its rows were made for. After the rows, which hold
-- its lock, and as a statement of its own: its snapshot cannot be older than a change that the lock
-- waited for. The look is sink_fingerprint's.
SELECT 1 / (EXISTS (SELECT FROM (
{fingerprint}
) AS now (fingerprint) WHERE now.fingerprint = $2))::integer
