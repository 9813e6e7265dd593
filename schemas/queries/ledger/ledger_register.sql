INSERT INTO {schema}.ledgers AS known (name, store, reach, retention)
VALUES ($1, $2, $3, $4::interval)
ON CONFLICT (name) DO UPDATE SET
    retention = CASE WHEN known.store = excluded.store OR $5::boolean
        THEN excluded.retention ELSE known.retention END
RETURNING ledger, store, reach
