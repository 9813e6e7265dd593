-- If the ledger stores results already, its lock is not taken at all. OW002: it has an inbox that
-- stores none.
SELECT CASE WHEN stores_results THEN true ELSE {schema}.begin_results(ledger) END
FROM {schema}.ledgers WHERE ledger = $1::integer
