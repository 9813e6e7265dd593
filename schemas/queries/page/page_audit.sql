-- The newest entries of the audit log, in the columns of page_acts, and the outcome.
SELECT acted_at::text, coalesce(who, database_role), act, target, reason, outcome
FROM {schema}.audit_log
ORDER BY entry DESC
LIMIT 200
