-- The retention of the ledger of that name, in seconds; no row if there is none.
SELECT extract(epoch FROM retention)::bigint FROM {schema}.ledgers WHERE name = $1
