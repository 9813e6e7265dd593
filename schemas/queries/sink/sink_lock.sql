-- The lock that a write takes anyway, taken before the look at the table's attributes.
LOCK TABLE ONLY {table} IN ROW EXCLUSIVE MODE
