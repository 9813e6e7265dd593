-- A call's function may compute between its statements for as long as the call may take.
SELECT set_config('idle_in_transaction_session_timeout', $1, true)
