-- A part of a batch that is tried on its own, inside of its transaction.
SAVEPOINT onceward_part
