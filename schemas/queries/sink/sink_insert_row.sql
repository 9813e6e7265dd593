-- Inserts one row or a few from the same bytes as COPY, but in a pipeline, which COPY would end.
-- DANGER: the parameters' types are those of the columns. A table that was changed needs another
-- statement than before, which is why the text has {fingerprint}
INSERT INTO {table} ({columns}) VALUES {values}
