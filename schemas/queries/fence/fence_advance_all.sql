-- Moves the rows as fence_advance does, and fails (22012) unless it moves so many ($13): for a
-- transaction in one round trip, which cannot wait for that number.
WITH moved AS (
{advance}
RETURNING f.partition)
SELECT 1 / (count(*) = $13::bigint)::integer FROM moved
