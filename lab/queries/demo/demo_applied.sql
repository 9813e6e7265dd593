SELECT 0, idempotency_key, count(*) FROM payments GROUP BY idempotency_key
UNION ALL
SELECT 1, idempotency_key, count(*) FROM orders GROUP BY idempotency_key
