# For tests/debezium/run: a copy of the source's table, compared with it by EXCEPT.
. tests/debezium/broker.sh

columns() {
    query -c "SELECT string_agg(format('%I: /%s', attname, attname), ', ') FROM pg_attribute
        WHERE attrelid = 'copy.items'::regclass AND attnum > 0 AND NOT attisdropped"
}
configuration() {
    configure items-copy items \
        "table: copy.items, mode: upsert, conflict_target: [id], columns: {$(columns)}"
    "$onceward" check -c "$work/onceward.yaml"
}
differences() {
    query -c "SELECT count(*) FROM (
        (SELECT r::text FROM public.items r EXCEPT SELECT r::text FROM copy.items r) UNION ALL
        (SELECT r::text FROM copy.items r EXCEPT SELECT r::text FROM public.items r)) rows"
}
equal() { [ "$(differences)" = 0 ]; }
state() {
    query -c "SELECT count(*) || ' rows, md5 ' || md5(string_agg(r::text, ',' ORDER BY id))
        FROM $1 r"
}
compared() {
    until_true 240 "a copy that is equal $1" equal
    echo "$1: source $(state public.items)"
    echo "$1: copy   $(state copy.items), $(differences) rows differ (EXCEPT both ways)"
}
# kill_both: both begin again, Debezium where it last stored its offset.
kill_both() {
    kill -KILL "$engine" "$worker"
    wait "$engine" "$worker" 2>/dev/null || true
    engine - "$servers" "${settings[@]}"
    worker
}
# load NAME: changes, one a transaction, whose outcome is another for each name.
load() {
    query -c "DO \$\$ BEGIN FOR i IN 1..500 LOOP
        INSERT INTO public.items (id, name, amount, day)
            VALUES (1000 + i % 97, '$1 ' || i, i, date '2020-01-01' + i)
            ON CONFLICT (id) DO UPDATE
            SET name = excluded.name, amount = excluded.amount, day = excluded.day;
        IF i % 13 = 0 THEN DELETE FROM public.items WHERE id = 1000 + i % 89; END IF;
        COMMIT; END LOOP; END \$\$"
}

# What the copy itself writes is not to be copied. Without a stored offset Debezium makes a new
# snapshot, so it stores one every 15 seconds, not every minute.
settings=(table.include.list=public.items,public.done offset.flush.interval.ms=15000)

query -f tests/debezium/source.sql -c "CREATE SCHEMA copy;
    CREATE TABLE copy.items (LIKE public.items INCLUDING DEFAULTS INCLUDING INDEXES)"
"$onceward" migrate up --dsn "$server/postgres" >/dev/null
configuration
engine - "$servers" "${settings[@]}"
until_true 60 "the snapshot" topic_there shop.public.items
worker
compared "after the snapshot"
query -f tests/debezium/changes.sql
compared "after inserts, updates and deletes"
# An offset within the snapshot would lead to a new snapshot. It is stored with a change.
stored() {
    query -c "UPDATE public.items SET flag = flag WHERE id = 15"
    grep -q lsn_commit "$work/engine/offsets"
}
until_true 60 "a stored offset" stored
for round in 1 2 3; do
    load "before $round"
    until_true 120 "a copy that is equal before kill -9" equal
    kill_both
    load "after $round"
done
compared "after three times kill -9 of Debezium and Onceward"
query -c "ALTER TABLE copy.items ADD COLUMN note text DEFAULT 'none',
    ADD COLUMN checked_at timestamptz, ALTER COLUMN amount TYPE numeric(14, 4), DROP COLUMN letters"
configuration
kill -TERM "$worker"
wait "$worker"
worker
query -f tests/debezium/schema_change.sql
compared "after a changed table"
query -c "SELECT 'messages: ' || sum(applied) || ' applied, ' || sum(duplicates) || ' duplicates, '
    || sum(dead_lettered) || ' dead letters, ' || sum(skipped) || ' skipped' FROM onceward.fences"
query -c "INSERT INTO public.done VALUES (1)"
wait "$engine"
[ "$(query -c 'SELECT sum(dead_lettered) = 0 AND sum(duplicates) > 0 FROM onceward.fences')" = t ]
