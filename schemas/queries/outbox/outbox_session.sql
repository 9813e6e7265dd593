-- A frozen leader would hold its lock for ever: outside a transaction only this limit ends it. The
-- outbox is empty at one moment and full at the next, so nothing is known of its size. Each check
-- is therefore planned by itself, and reads along the primary key, which is in the rows' order. A
-- read hashes the keys that it leaves out only if they fit into work_mem: 4 MB hold 47,000.
SELECT set_config('idle_session_timeout', $1, false),
    set_config('plan_cache_mode', 'force_custom_plan', false),
    set_config('enable_bitmapscan', 'off', false), set_config('enable_seqscan', 'off', false),
    set_config('work_mem', '64MB', false)
