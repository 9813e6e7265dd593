SELECT pid FROM pg_stat_activity WHERE application_name = 'onceward-bench-process'
