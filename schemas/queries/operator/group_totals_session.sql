-- Compiling a query that runs every ten seconds takes twenty times as long as running it.
SELECT set_config('jit', 'off', false)
