-- For the rest of a transaction that is tried once and then done with care.
SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)
