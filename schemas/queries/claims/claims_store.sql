-- Read it with the ledger's lock held: a conversion changes it under the exclusive one.
SELECT store FROM {schema}.ledgers WHERE ledger = $1::integer
