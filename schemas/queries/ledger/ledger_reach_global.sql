-- Under the ledger's exclusive lock: an append that holds it shared is of the reach before.
UPDATE {schema}.ledgers SET reach = 'global' WHERE ledger = $1::integer AND store = 'log'
RETURNING reach
