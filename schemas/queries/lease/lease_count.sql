-- Marks messages as counted that had ended before the fence reached them, and that it passes now.
-- No other session counts these: the fence's lock is held.
WITH passed AS MATERIALIZED (
    SELECT known.digest FROM {schema}.leases AS known
    WHERE known.ledger = $1::integer AND known.digest = ANY ($2::uuid[])
    ORDER BY known.digest
    FOR UPDATE
)
UPDATE {schema}.leases AS known SET counted = true
FROM passed
WHERE known.ledger = $1::integer AND known.digest = passed.digest AND known.state <> 'in_flight'
