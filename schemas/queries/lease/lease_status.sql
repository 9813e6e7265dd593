-- What became of requests' keys in the ledger of that name: place among the requested ones; 1 while
-- it is in flight, else 0; the rest of the lease in milliseconds; the answer's status; the ledger's
-- number.
-- A freed key (zeros) is not returned. This decides nothing: a COMMIT that is under way is not
-- seen.
SELECT wanted.place, (known.state = 'in_flight')::integer,
    greatest(0, (extract(epoch FROM known.lease_until - clock_timestamp()) * 1000)::bigint),
    coalesce(known.status, 0), led.ledger
FROM unnest($2::uuid[]) WITH ORDINALITY AS wanted (digest, place)
    JOIN {schema}.ledgers AS led ON led.name = $1
    JOIN {schema}.leases AS known ON known.ledger = led.ledger AND known.digest = wanted.digest
WHERE known.owner_token <> '00000000-0000-0000-0000-000000000000'
