# For tests/debezium/run: the files that tests/integration/sinks/table/debezium_test.cc reads.
records=tests/debezium/records
query -f tests/debezium/source.sql
rm -f "$records.ndjson" "${records}_after_schema_change.ndjson"
engine "$records.ndjson"
until_true 60 "the snapshot" has_lines "$records.ndjson" 4
query -f tests/debezium/changes.sql -c "INSERT INTO done VALUES (1)"
wait "$engine"
engine "${records}_after_schema_change.ndjson"
query -f tests/debezium/schema_change.sql -c "INSERT INTO done VALUES (2)"
wait "$engine"
wc -l "$records.ndjson" "${records}_after_schema_change.ndjson"
