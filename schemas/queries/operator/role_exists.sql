-- $1: a role's name. Returns whether this server has it.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1::text)
