-- How many replies of the tenant wait to be sent that results_count counts for this ledger and for
-- one of the others: a reply is its group's, and a group may feed several ledgers.
SELECT count(*) FROM {schema}.outbox o
WHERE o.tenant = $2::bytea
    AND o.consumer_group IN (SELECT f.consumer_group FROM {schema}.ledger_feeds f
        WHERE f.ledger = $1::integer)
    AND o.consumer_group IN (SELECT f.consumer_group FROM {schema}.ledger_feeds f
        WHERE f.ledger = ANY ($3::integer[]))
