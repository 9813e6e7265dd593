-- A row for each generation of the ledgers: of the one that is named, of those that a group or the
-- inbox feeds, or of all. How long it has been kept beyond its retention, and how old it is, are by
-- the wall clock, which decides nothing. The last columns: whether requests, which have no log,
-- claim there; whether the inbox does; whether the group does; the bytes of stored results; and
-- when the ledger's memory begins, if anything was forgotten yet.
SELECT l.ledger, l.name, l.store, l.reach, l.retention::text,
    extract(epoch FROM l.retention)::bigint, g.generation, g.created_at::text,
    g.sealed_at IS NOT NULL, CASE WHEN l.store = 'lease' THEN counted.leases ELSE s.claims END,
    -- As in retention_state: the bytes from which a large number of claims is estimated.
    coalesce(CASE WHEN l.store = 'log' AND pg_relation_size(made.claims) > 0
        THEN pg_table_size(made.claims) ELSE pg_relation_size(made.claims) END, 0),
    coalesce(pg_total_relation_size(made.claims), 0)
        + coalesce(pg_total_relation_size(made.sealed), 0)
        + coalesce(pg_total_relation_size(made.filters), 0)
        + coalesce(pg_total_relation_size(made.batches), 0)
        + coalesce(pg_total_relation_size(made.results), 0)
        -- The bytes of all lease ledgers, which share one table; shown with the open generation.
        + CASE WHEN l.store = 'lease' AND g.sealed_at IS NULL
            THEN pg_total_relation_size('{schema}.leases') ELSE 0 END,
    greatest(0, extract(epoch FROM clock_timestamp() - coalesce(g.sealed_at, ended.oldest)
        - l.retention))::bigint,
    extract(epoch FROM clock_timestamp() - g.created_at)::bigint,
    in_flight.held, in_flight.let_go,
    coalesce(ceil(extract(epoch FROM clock_timestamp() - in_flight.oldest)), 0)::bigint,
    EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.longest_request IS NOT NULL),
    EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.consumer_group = 'inbox'),
    EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.consumer_group = $2),
    coalesce(pg_total_relation_size(made.results), 0),
    extract(epoch FROM nullif(l.memory_begins, '-infinity'))::bigint
FROM {schema}.ledgers l JOIN {schema}.generations g USING (ledger)
    LEFT JOIN {schema}.segments s USING (ledger, generation)
    CROSS JOIN LATERAL (SELECT g.ledger || '_' || g.generation
        || coalesce('m' || nullif(s.merge, 0), '') AS kept) AS ending
    CROSS JOIN LATERAL (SELECT
        to_regclass(format('{schema}.claims_%s_%s', g.ledger, g.generation)) AS claims,
        to_regclass('{schema}.sealed_' || ending.kept) AS sealed,
        to_regclass('{schema}.filters_' || ending.kept) AS filters,
        to_regclass('{schema}.batches_' || ending.kept) AS batches,
        to_regclass(format('{schema}.results_%s_%s', g.ledger, g.generation)) AS results) AS made
    -- A `lease` ledger's rows are in no generation; they are shown with the open one. Large numbers
    -- are not counted one by one.
    CROSS JOIN LATERAL (SELECT CASE WHEN count(*) < 100000 THEN count(*) ELSE greatest(count(*),
            (SELECT 100 * count(*) FROM {schema}.leases AS known TABLESAMPLE SYSTEM (1)
                REPEATABLE (0) WHERE known.ledger = l.ledger)) END AS leases
        FROM (SELECT FROM {schema}.leases AS known WHERE l.store = 'lease' AND g.sealed_at IS NULL
            AND known.ledger = l.ledger LIMIT 100000) AS found) AS counted
    CROSS JOIN LATERAL (SELECT min(known.ended_at) AS oldest FROM {schema}.leases AS known
        WHERE l.store = 'lease' AND g.sealed_at IS NULL AND known.ledger = l.ledger
            AND known.ended_at IS NOT NULL) AS ended
    CROSS JOIN LATERAL (SELECT min(known.begun_at) AS oldest,
            count(*) FILTER (WHERE known.lease_until > clock_timestamp()) AS held,
            count(*) FILTER (WHERE known.lease_until <= clock_timestamp()) AS let_go
        FROM {schema}.leases AS known WHERE l.store = 'lease' AND g.sealed_at IS NULL
            AND known.ledger = l.ledger AND known.state = 'in_flight') AS in_flight
WHERE ($1::text IS NULL OR l.name = $1)
    AND ($2::text IS NULL OR EXISTS (SELECT FROM {schema}.ledger_feeds f
        WHERE f.ledger = l.ledger AND f.consumer_group IN ($2, 'inbox')))
ORDER BY l.name, g.generation
