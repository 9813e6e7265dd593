SELECT {schema}.rotate_ledger($1::integer, $2::bigint)
