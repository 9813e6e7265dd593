-- Whether there is an audit log, and this role may read it.
SELECT coalesce(has_table_privilege(to_regclass('{schema}.audit_log'), 'SELECT'), false)
