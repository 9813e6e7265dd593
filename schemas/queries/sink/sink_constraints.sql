-- Deferred constraints and triggers are checked now: before COMMIT their error is definite.
SET CONSTRAINTS ALL IMMEDIATE
