-- Since when the ledger knows its keys, and when a key can have been minted at the latest, by this
-- server's clock; both in microseconds since 1970. Read it with the ledger's lock held.
SELECT CASE WHEN isfinite(memory_begins) THEN (extract(epoch FROM memory_begins) * 1000000)::bigint
        ELSE 0 END,
    (extract(epoch FROM clock_timestamp() + {schema}.clock_skew(retention)) * 1000000)::bigint
FROM {schema}.ledgers WHERE ledger = $1::integer
