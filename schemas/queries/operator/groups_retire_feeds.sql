UPDATE {schema}.ledger_feeds s SET retired_at = now()
FROM {schema}.ledgers l
WHERE l.ledger = s.ledger AND s.consumer_group = $1 AND ($2::text IS NULL OR s.topic = $2)
    AND ($3::text IS NULL OR l.name = $3) AND s.retired_at IS NULL
RETURNING s.topic, l.name
