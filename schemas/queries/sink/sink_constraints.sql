-- Deferred constraints and triggers speak now, where their error is definite.
SET CONSTRAINTS ALL IMMEDIATE
