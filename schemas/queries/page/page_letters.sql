-- The numbers of a page of the group's dead letters, the newest first. $2: a topic, $3: a class,
-- $4: an SQLSTATE, $5: what page_letter_groups makes of a reason; null: any. $6: the open ones
-- alone; $7: only those before this number; $9: this number alone.
SELECT dead_letter FROM {schema}.dead_letters
WHERE consumer_group = $1 AND ($2::text IS NULL OR topic = $2)
    AND ($3::text IS NULL OR error_class = $3) AND ($4::text IS NULL OR sqlstate = $4)
    AND ($5::text IS NULL OR $5 = left(
        regexp_replace(reason, '"[^"]*"|`[^`]*`|''[^'']*''|[0-9]+', '…', 'g'), 300))
    AND ($6::boolean IS FALSE OR resolved_at IS NULL)
    AND ($7::bigint IS NULL OR dead_letter < $7)
    AND ($9::bigint IS NULL OR dead_letter = $9)
ORDER BY dead_letter DESC
LIMIT $8::bigint
