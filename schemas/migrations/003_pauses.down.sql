DROP TABLE {schema}.topic_pauses;
