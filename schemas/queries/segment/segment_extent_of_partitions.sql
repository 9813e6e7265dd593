-- What each partition claimed in a log of a ledger with `reach: partition`, in which each row
-- belongs to one partition.
SELECT source, partitions[1], (sum(length(digests)) / 16)::bigint
FROM {schema}.claims_{ledger}_{generation}
GROUP BY source, partitions[1] ORDER BY source, partitions[1]
