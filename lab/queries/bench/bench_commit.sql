INSERT INTO {table} (event_id, account, amount_minor, currency, created_at)
VALUES ($1::uuid, 'account-1', $2::bigint, 'EUR', '2026-01-01T00:00:00.123456Z')
