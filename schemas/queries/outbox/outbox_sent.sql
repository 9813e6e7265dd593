SELECT {schema}.remove_sent($1, $2::text[], $3::bigint[], $4::uuid[])
