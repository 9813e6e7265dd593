-- As sink_insert_row, for a table that nobody has read before. Its parameters have the types that
-- the columns had. DANGER: the columns are returned so that the server refuses the statement
-- (0A000, "cached plan must not change result type") if a name, type or modifier of theirs is
-- another one than when it was prepared: it would convert the values silently. It fails (22012)
-- where the row would not survive a crash, or went to a foreign table. Made for {fingerprint}
INSERT INTO {table} ({columns}) VALUES {values}
RETURNING 1 / pg_relation_is_publishable(tableoid)::integer, {columns}
