-- Compiling what is asked every ten seconds takes twenty times as long as asking it.
SELECT set_config('jit', 'off', false)
