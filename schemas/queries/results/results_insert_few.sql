-- As results_insert, for a few rows: no function has to turn arrays into rows, which is half of the
-- time that one row takes.
INSERT INTO {schema}.results_{ledger}_{generation} (digest, attempt, tenant, kind, status, headers,
    body)
VALUES {rows}
ON CONFLICT DO NOTHING
