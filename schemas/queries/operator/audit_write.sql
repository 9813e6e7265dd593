SELECT {schema}.record_act($1, $2, '', $3, $4::jsonb)
