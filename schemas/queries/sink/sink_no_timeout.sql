-- From here on no time-out may cancel: a COMMIT that is cancelled while it waits for a standby
-- commits all the same.
SET LOCAL statement_timeout = 0
