-- A reader elsewhere: from here on VACUUM may take nothing that dies.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_current_snapshot()
