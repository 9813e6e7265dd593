-- Appends as log_append does, and fails (22012) unless a window that knows all batches up to $8
-- knows everything: this generation is the open one, no batch came after $8, none up to $8 was
-- dropped unread, and no claim was taken out since ($9). After the ledger's lock, as a statement of
-- its own.
-- DANGER: ORDER BY with LIMIT, and not EXISTS. For an unknown $8 the planner presumes that a third
-- of the rows match, and would read all of them, while all workers wait for the lock.
INSERT INTO {schema}.claims_{ledger}_{generation} (source, partitions, first_offsets, last_offsets,
    digests, fingerprints)
SELECT $1::integer, $2::integer[], $3::bigint[], $4::bigint[], $5::bytea, $6::bytea
WHERE 1 = 1 / (EXISTS (SELECT FROM {schema}.ledgers l
        JOIN {schema}.generations g ON g.ledger = l.ledger AND g.sealed_at IS NULL
    WHERE l.ledger = $7::integer AND l.log_floor <= $8::bigint AND l.evictions = $9::bigint
        AND g.generation = {generation})
    AND (SELECT b.seq FROM {schema}.claims_{ledger}_{generation} b WHERE b.seq > $8::bigint
        ORDER BY b.seq LIMIT 1) IS NULL)::integer
RETURNING seq
