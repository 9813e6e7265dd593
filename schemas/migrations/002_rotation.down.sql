DROP FUNCTION {schema}.orphaned_generations(integer);
DROP FUNCTION {schema}.drop_generation(integer, bigint);
DROP FUNCTION {schema}.unlist_expired(integer);
DROP FUNCTION {schema}.ledger_watermark(integer);
DROP FUNCTION {schema}.rotate_ledger(integer, bigint);
