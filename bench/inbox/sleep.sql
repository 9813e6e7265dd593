-- One session that claims and then sleeps in its transaction for a minute. It is not idle, so
-- PostgreSQL does not end it.
BEGIN;
SELECT outcome, digest, attempt
    FROM onceward.claim('pay', '', 'id', 'sleeping', ledger => 'bench') \gset
SELECT pg_sleep(60);
SELECT onceward.finish(:'digest'::uuid, :'attempt'::uuid, 201, body => 'done', ledger => 'bench');
COMMIT;
