-- From here on a statement waits as long as it must. For the end of a transaction: its work is
-- done, another try would write all rows again, and a COMMIT that is cancelled while it waits for
-- a standby commits all the same.
SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)
