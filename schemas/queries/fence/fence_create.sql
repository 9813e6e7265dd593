INSERT INTO {schema}.fences (consumer_group, topic, partition, incarnation, owner, first_offset,
    next_offset, leader_epoch, ledger)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7, nullif($8::integer, 0))
ON CONFLICT DO NOTHING
