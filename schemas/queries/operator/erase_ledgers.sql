-- The ledgers with that name in which this group's topic or route claims, or did before: name,
-- group and topic are each compared only if given. A key that a topic claimed in an earlier ledger
-- still has its result there.
SELECT known.ledger, known.name FROM {schema}.ledgers AS known
WHERE ($1::text IS NULL OR known.name = $1)
    AND (coalesce($2::text, $3::text) IS NULL OR EXISTS (
        SELECT FROM {schema}.ledger_feeds AS feed WHERE feed.ledger = known.ledger
            AND ($2::text IS NULL OR feed.consumer_group = $2)
            AND ($3::text IS NULL OR feed.topic = $3)))
ORDER BY known.name
