SELECT {schema}.grant_inbox($1::text::name, $2, $3)
