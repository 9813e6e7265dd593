-- The level is spelled out, since a server's default may be another one.
BEGIN ISOLATION LEVEL READ COMMITTED
