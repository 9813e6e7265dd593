-- Deletes rows by their keys. The text has {fingerprint} as in sink_insert_row.
DELETE FROM {table} AS target WHERE ({target_keys}) IN ({values})
