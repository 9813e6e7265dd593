-- The schemas in which the names of a user's query are searched.
SELECT array_to_string(current_schemas(false), ', ')
