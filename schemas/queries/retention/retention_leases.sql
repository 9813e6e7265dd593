SELECT {schema}.delete_ended_leases($1::integer, $2::integer)
