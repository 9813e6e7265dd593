-- Fails (22012) unless a window that knows all batches up to $2 knows everything: this generation
-- is the open one, no batch came after $2, none up to $2 was dropped unread, and no claim was taken
-- out since ($3). After the ledger's lock, as a statement of its own.
-- DANGER: ORDER BY with LIMIT, and not EXISTS. For an unknown $2 the planner presumes that a third
-- of the rows match, and would read all of them, while all workers wait for the lock.
SELECT 1 / (EXISTS (SELECT FROM {schema}.ledgers l
        JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
    WHERE l.ledger = $1::integer AND l.log_floor <= $2::bigint AND l.evictions = $3::bigint
        AND g.generation = {generation})
    AND (SELECT b.seq FROM {schema}.claims_{ledger}_{generation} b WHERE b.seq > $2::bigint
        ORDER BY b.seq LIMIT 1) IS NULL)::integer
