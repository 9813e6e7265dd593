-- Upserts rows, no two of which have the same key. The text has {fingerprint} as in
-- sink_insert_row.
INSERT INTO {table} AS target ({columns}) VALUES {values}
ON CONFLICT ({target}) DO {action}
