SELECT pg_relation_size('{schema}.claims_{ledger}_{generation}')
    / current_setting('block_size')::bigint
