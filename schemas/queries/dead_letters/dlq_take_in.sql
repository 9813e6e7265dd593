-- Imports letters from a topic of dead letters, each once by its place in its own topic's log.
-- Returns for each, in their order, what became of it, and its number if it is in the table: `new`;
-- `present` (nobody has dealt with it); `done` (somebody has); `discarded`; `read` (the group has
-- read the message itself and has no letter of it); `no fence` (it is not known which log it is
-- of).
WITH wanted AS (
    SELECT letter.*, coalesce(letter.said_identity, fence.log) AS identity,
        coalesce(fence.log = coalesce(letter.said_identity, fence.log)
            AND letter.record_offset >= fence.first_offset
            AND letter.record_offset < fence.next_offset, false) AS read_here
    FROM unnest($3::integer[], $4::bigint[], $5::text[]::bigint[], $6::bytea[], $7::text[],
            $8::bytea[], $9::bytea[], $10::uuid[], $11::text[], $12::text[], $13::text[],
            $14::integer[], $15::text[])
        WITH ORDINALITY AS letter (partition, record_offset, milliseconds, record_key, headers,
            payload, key_text, digest, error_class, sqlstate, reason, attempts, said_identity,
            position)
        LEFT JOIN LATERAL (
            SELECT coalesce(nullif(f.topic_id, ''), f.incarnation::text) AS log, f.first_offset,
                f.next_offset
            FROM {schema}.fences AS f
            WHERE f.consumer_group = $1 AND f.topic = $2 AND f.partition = letter.partition
        ) AS fence ON true
), judged AS (
    SELECT wanted.*, there.dead_letter AS number, CASE
            WHEN wanted.identity IS NULL THEN 'no fence'
            WHEN EXISTS (SELECT FROM {schema}.discarded_dead_letters AS gone
                WHERE gone.consumer_group = $1 AND gone.topic = $2
                    AND gone.identity = wanted.identity AND gone.partition = wanted.partition
                    AND gone.record_offset = wanted.record_offset) THEN 'discarded'
            WHEN there.dead_letter IS NOT NULL THEN CASE
                WHEN there.resolved_at IS NULL
                    OR (there.redrive_began_at IS NOT NULL AND there.redriven_at IS NULL)
                THEN 'present' ELSE 'done' END
            WHEN wanted.read_here AND NOT $16::boolean THEN 'read'
            ELSE 'new' END AS verdict
    FROM wanted LEFT JOIN {schema}.dead_letters AS there
        ON there.consumer_group = $1 AND there.topic = $2 AND there.identity = wanted.identity
            AND there.partition = wanted.partition
            AND there.record_offset = wanted.record_offset
), added AS (
    INSERT INTO {schema}.dead_letters (consumer_group, topic, identity, partition, record_offset,
        record_timestamp, record_key, headers, payload, key_text, digest, error_class, sqlstate,
        reason, attempts)
    SELECT $1, $2, identity, partition, record_offset,
        timestamptz 'epoch' + milliseconds * interval '1 millisecond', record_key, headers::jsonb,
        payload, key_text, digest, error_class, sqlstate, reason, attempts
    FROM judged WHERE verdict = 'new' ORDER BY position
    ON CONFLICT ON CONSTRAINT dead_letters_once DO NOTHING
    RETURNING dead_letter, identity, partition, record_offset
)
SELECT judged.verdict, coalesce(judged.number, added.dead_letter)
FROM judged LEFT JOIN added USING (identity, partition, record_offset)
ORDER BY judged.position
