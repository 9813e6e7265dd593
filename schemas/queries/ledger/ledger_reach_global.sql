-- Run it under the ledger's exclusive lock: an append that holds the lock shared uses the old
-- reach.
UPDATE {schema}.ledgers SET reach = 'global' WHERE ledger = $1::integer AND store = 'log'
RETURNING reach
