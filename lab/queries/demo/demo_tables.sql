-- No unique index on the key, on purpose: a key that is applied twice must show as two rows, and
-- not as an error.
CREATE TABLE payments (
    idempotency_key uuid NOT NULL,
    account text NOT NULL,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    created_at timestamptz NOT NULL,
    payer_country text,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL
);
CREATE TABLE orders (
    idempotency_key uuid NOT NULL,
    customer text NOT NULL,
    total numeric NOT NULL,
    placed_at timestamptz NOT NULL,
    items jsonb NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL
);
