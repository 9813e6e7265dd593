-- The lock that a write takes anyway. It is taken before the table's attributes are read.
LOCK TABLE ONLY {table} IN ROW EXCLUSIVE MODE
