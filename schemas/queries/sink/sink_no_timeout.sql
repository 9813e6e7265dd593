-- From here on nothing may cancel: a COMMIT that is cancelled in its wait for a standby commits all
-- the same.
SET LOCAL statement_timeout = 0
