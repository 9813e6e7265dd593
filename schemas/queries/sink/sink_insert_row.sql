-- A row or a few, by the same bytes as COPY, whose errors end no pipeline. DANGER: the parameters'
-- types are those of the columns. A table that was changed needs another statement than before,
-- which is why the text has {fingerprint}
INSERT INTO {table} ({columns}) VALUES {values}
