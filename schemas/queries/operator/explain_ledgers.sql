-- The ledgers that these topics or routes of the group feed now. If none is given: those that calls
-- of once() and of the inbox feed if $2 says so, else all. $3: the group, null for any.
SELECT DISTINCT l.name FROM {schema}.ledgers l JOIN {schema}.ledger_feeds f USING (ledger)
WHERE CASE WHEN cardinality($1::text[]) > 0 THEN f.topic = ANY ($1)
        AND ($3::text IS NULL OR f.consumer_group = $3) AND f.retired_at IS NULL
    WHEN $2::boolean THEN f.consumer_group IN ('once()', 'inbox') AND f.retired_at IS NULL
    ELSE true END
ORDER BY l.name
