-- One call for all messages. A row of several columns is an object; its `ordinality` and the names
-- that begin with `result_` are not part of the body. Anything else is the body itself. The last
-- column says whether the body is JSON; a text, here without its quotes, is not. `unless`: two
-- dashes if the function numbers its rows by itself. Without OFFSET 0 the document would be made
-- for each column. Nothing is cast here: the error would count as the message's. DANGER: the alias
-- must be a name that no column has. A column's name takes precedence over the row's, and the
-- status of that row would be lost.
SELECT answer.message, coalesce(answer.document ->> 'result_failed', 'false'),
    coalesce(answer.document ->> 'result_status', '0'),
    coalesce(answer.document ->> 'result_headers', '{}'),
    coalesce(CASE WHEN jsonb_typeof(answer.document) <> 'object' THEN answer.document #>> '{}'
        WHEN answer.document ? 'result_body' THEN answer.document ->> 'result_body'
        ELSE nullif(answer.document
            - '{ordinality,result_failed,result_status,result_headers}'::text[], '{}')::text
        END, ''),
    (coalesce(CASE WHEN jsonb_typeof(answer.document) <> 'object'
            THEN jsonb_typeof(answer.document)
        WHEN answer.document ? 'result_body' THEN jsonb_typeof(answer.document -> 'result_body')
        ELSE 'object' END, 'null') NOT IN ('string', 'null'))::text
FROM (SELECT onceward_row.ordinality::bigint AS message,
        to_jsonb(onceward_row) AS document
    FROM {function}($1::jsonb[])
        {unless}WITH ORDINALITY
        AS onceward_row OFFSET 0) AS answer
