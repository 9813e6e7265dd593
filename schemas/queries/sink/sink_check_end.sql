-- After the check: the constraints are as deferred as before it.
ROLLBACK TO SAVEPOINT onceward_check
