ROLLBACK TO SAVEPOINT onceward_search
