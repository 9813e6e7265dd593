-- The messages that should have been sent from $1 to $2 (seconds since 1970), and the seconds from
-- then to their COMMIT: 50 %, 99 %, 99.9 % and all of them took no longer. PostgreSQL takes a
-- COMMIT's time before its fsync.
WITH latencies AS (
    SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - created_at)::float8 AS seconds
    FROM {table}
    WHERE created_at >= to_timestamp($1::float8) AND created_at < to_timestamp($2::float8)
)
SELECT count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY seconds),
    percentile_disc(0.99) WITHIN GROUP (ORDER BY seconds),
    percentile_disc(0.999) WITHIN GROUP (ORDER BY seconds), max(seconds)
FROM latencies
