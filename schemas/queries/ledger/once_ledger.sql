-- Whether the ledger with this number is the one that once() registered, and whether a crash may
-- lose a COMMIT of this session.
SELECT (EXISTS (SELECT FROM {schema}.ledgers l JOIN {schema}.ledger_feeds f USING (ledger)
        WHERE l.ledger = $1::integer AND f.source = $2::integer AND l.name = $3 AND f.topic = $3
            AND f.consumer_group = $4))::integer,
    (current_setting('synchronous_commit') = 'off')::integer
