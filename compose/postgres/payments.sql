-- The sink's table. It has no unique key, so that a row that came twice would be there twice.
CREATE TABLE payments (
    id text NOT NULL,
    amount numeric NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL
);
GRANT INSERT, SELECT ON payments TO worker;
