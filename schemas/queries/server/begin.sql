-- Spelled out: a server's default may be another one.
BEGIN ISOLATION LEVEL READ COMMITTED
