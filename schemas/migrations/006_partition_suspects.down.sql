DROP TABLE {schema}.partition_suspects;
