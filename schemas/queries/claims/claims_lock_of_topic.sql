-- Takes the locks of the ledgers that the topic feeds, each as claims_lock_shared does: an expiry
-- that is under way ends first, and no other begins before this transaction has ended.
SELECT count(pg_advisory_xact_lock_shared(1330524999, fed.ledger)) AS locks
FROM (SELECT ledger FROM {schema}.ledger_feeds
    WHERE consumer_group = $1 AND topic = $2 ORDER BY ledger) AS fed
