SELECT s.generation FROM {schema}.segments s
WHERE s.ledger = $1::integer
    AND to_regclass(format('{schema}.claims_%s_%s', s.ledger, s.generation)) IS NOT NULL
