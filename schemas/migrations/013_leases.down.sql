DROP FUNCTION {schema}.free_failed_leases(bigint[]);
DROP FUNCTION {schema}.evict_leases(integer, uuid[], text);
DROP FUNCTION {schema}.delete_results(integer, uuid[]);
DROP FUNCTION {schema}.delete_ended_leases(integer, integer);
DROP TABLE {schema}.leases;
