VACUUM {schema}.sealed_{ledger}_{generation}, {schema}.filters_{ledger}_{generation},
    {schema}.batches_{ledger}_{generation}
