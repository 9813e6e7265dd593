DROP TABLE IF EXISTS {table};
CREATE TABLE {table} (
    event_id uuid NOT NULL,
    account text NOT NULL,
    amount_minor bigint NOT NULL PRIMARY KEY,
    currency text NOT NULL,
    created_at timestamptz NOT NULL
)
