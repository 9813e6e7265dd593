-- Fails (22012) if the table is not the one that its rows were made for. Run it after the rows,
-- which hold the table's lock, and as a statement of its own: then its snapshot cannot be older
-- than a change that the lock waited for. The subquery is sink_fingerprint.
SELECT 1 / (EXISTS (SELECT FROM (
{fingerprint}
) AS now (fingerprint) WHERE now.fingerprint = $2))::integer
