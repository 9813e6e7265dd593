DROP TABLE {schema}.imports;
DROP FUNCTION {schema}.evict_claims(integer, uuid[], text);
DROP FUNCTION {schema}.take_out_claim(integer, bigint, uuid);
DROP TABLE {schema}.evictions;
DROP FUNCTION {schema}.discard_dead_letters(bigint[], text);
DROP TABLE {schema}.discarded_dead_letters;
ALTER TABLE {schema}.dead_letters DROP COLUMN redrive_began_at, DROP COLUMN redriven_at;
