-- Rows of one transaction; their positions are in the order of the arrays.
WITH inserted AS (
    INSERT INTO {schema}.outbox (consumer_group, topic, id, order_key, record_key, payload, headers,
        tenant)
    SELECT $1, made.topic, made.id, made.order_key, made.record_key, made.payload, made.headers,
        made.tenant
    FROM unnest($2::text[], $3::uuid[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[],
            $8::bytea[])
        WITH ORDINALITY AS made (topic, id, order_key, record_key, payload, headers, tenant, place)
    ORDER BY made.place
)
-- A sleeping relay holds this lock exclusively, and a writer that cannot share it wakes it at the
-- COMMIT. A writer that gets its share sends no notification: until its transaction ends no relay
-- goes to sleep. A notification for each transaction would serialize all commits of the database,
-- those that wait for a standby included.
SELECT CASE WHEN NOT pg_try_advisory_xact_lock_shared(
        hashtextextended(format('onceward outbox sleeps {schema} %L', $1::text), 0))
    THEN pg_notify('onceward_outbox_{schema}', '') END
