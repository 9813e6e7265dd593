-- How long the switch waits for a lock, and how long it may take at most. All claims of the ledger
-- wait during that time.
SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)
