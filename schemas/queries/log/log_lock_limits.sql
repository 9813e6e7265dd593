-- No limits, since the batch's work is done: waiting costs nothing, and another try would write all
-- rows again.
SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)
