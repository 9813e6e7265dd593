SELECT count(*), count(DISTINCT {key}) FROM {table}
