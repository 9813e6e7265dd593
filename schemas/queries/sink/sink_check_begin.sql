-- Before the deferred constraints of a part are checked.
SAVEPOINT onceward_check
