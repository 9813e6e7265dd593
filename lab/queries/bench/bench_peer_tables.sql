DROP TABLE IF EXISTS onceward_bench_upserted, onceward_bench_raw, onceward_bench_claims;
CREATE TABLE onceward_bench_upserted (
    event_id uuid NOT NULL PRIMARY KEY,
    account text NOT NULL,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE TABLE onceward_bench_raw (
    key text NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL,
    payload jsonb NOT NULL
);
CREATE TABLE onceward_bench_claims (event_id uuid NOT NULL PRIMARY KEY)
