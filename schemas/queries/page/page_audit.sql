-- The newest entries of the audit log, in the columns of page_acts.
SELECT acted_at::text, coalesce(who, database_role), act, target, reason
FROM {schema}.audit_log
ORDER BY entry DESC
LIMIT 200
