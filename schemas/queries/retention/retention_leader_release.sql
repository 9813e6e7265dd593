SELECT pg_advisory_unlock(hashtextextended('onceward retention {schema} ' || $1, 0))
