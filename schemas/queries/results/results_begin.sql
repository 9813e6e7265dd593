-- If the ledger stores results already, its lock is not taken at all.
SELECT CASE WHEN stores_results THEN true ELSE {schema}.begin_results(ledger) END
FROM {schema}.ledgers WHERE ledger = $1::integer
