-- A name that needs quotes is a reserved word of this server.
SELECT quote_ident($1) = $1
