-- One call for all messages. A row of several columns is an object, in which `ordinality` and what
-- begins with `result_` are no part of the body; anything else is the body itself. The last column:
-- whether the body is JSON; a text is not, which is without its quotes here. `unless`: two dashes,
-- where the function numbers its rows by itself. OFFSET 0: else the document is made for each
-- column. Nothing is cast here: an error would be taken for the message's. DANGER: the alias is
-- one that no column is called; a column's name comes before the row's, and the status of that row
-- would be lost.
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
