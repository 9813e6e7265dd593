-- An effect that had failed for good is free to be tried again.
SELECT {schema}.free_failed_leases($1::bigint[])
