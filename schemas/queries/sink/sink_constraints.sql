-- Deferred constraints and triggers are checked now, where their error is definite.
SET CONSTRAINTS ALL IMMEDIATE
