-- The ledgers that are fed by these topics or routes; of none: that calls of once() feed where $2
-- says so, else all.
SELECT DISTINCT l.name FROM {schema}.ledgers l JOIN {schema}.ledger_feeds f USING (ledger)
WHERE CASE WHEN cardinality($1::text[]) > 0 THEN f.topic = ANY ($1)
    ELSE NOT $2::boolean OR f.consumer_group = 'once()' END
