-- A frozen leader would hold its lock for ever: outside a transaction only this limit ends it.
SELECT set_config('idle_session_timeout', $1, false)
