-- Where the names of a query of the user's are looked for.
SELECT array_to_string(current_schemas(false), ', ')
