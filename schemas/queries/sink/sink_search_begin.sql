-- Each round of a search begins at this savepoint.
SAVEPOINT onceward_search
