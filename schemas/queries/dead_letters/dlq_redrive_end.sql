UPDATE {schema}.dead_letters SET redriven_at = now() WHERE dead_letter = ANY ($1::bigint[])
