DROP FUNCTION {schema}.remove_sent(text, text[], bigint[], uuid[]);
DROP TABLE {schema}.outbox;
