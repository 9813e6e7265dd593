SELECT wanted.place, claim.fingerprint
FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (digest, place)
    JOIN {schema}.claims_{ledger}_{generation} AS claim ON claim.digest = wanted.digest
