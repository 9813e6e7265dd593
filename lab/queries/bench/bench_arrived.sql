-- A COPY shows its rows at its end only; until then it tells how many it has taken.
SELECT (SELECT count(*) FROM {table})
    + (SELECT coalesce(sum(tuples_processed), 0)::bigint FROM pg_stat_progress_copy
        WHERE relid = '{table}'::regclass)
