-- How long a statement of the transaction waits for a lock, and how long it may take at most.
SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)
