-- Where each round of a search begins.
SAVEPOINT onceward_search
