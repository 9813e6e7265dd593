# For tests/debezium/run: one topic that Debezium made, through its own JDBC sink and through
# Onceward, both in insert mode, both killed KILLS times on their way.
#
#   ROWS=200000 KILLS=5 FLUSH_MS=1000 tests/debezium/run sinks
rows=${ROWS:-200000}
kills=${KILLS:-5}
flush=${FLUSH_MS:-1000} # how often Connect stores its offsets; its default is 60000
bench/peers/fetch
. tests/debezium/broker.sh
peers=$(. bench/peers/jars && echo "$jars")

query -c "CREATE TABLE payments (id bigint PRIMARY KEY, amount numeric(12, 2), day date, note text);
    CREATE TABLE done (id integer PRIMARY KEY);
    CREATE TABLE theirs (id bigint, amount numeric(12, 2), day date, note text);
    CREATE TABLE ours (LIKE theirs);
    INSERT INTO payments SELECT i, i / 100.0, date '2020-01-01' + i % 1000, 'n' || i
        FROM generate_series(1, $rows) i"
engine - "$servers" table.include.list=public.payments,public.done
until_true 60 "the snapshot" topic_there shop.public.payments
query -c "INSERT INTO done VALUES (1)"
wait "$engine"

count() { query -c "SELECT count(*) FROM $1"; }
whole() { [ "$(query -c "SELECT count(DISTINCT id) FROM $1")" = "$rows" ]; }
beyond() { [ "$(count "$1")" -gt "$2" ] || whole "$1"; }
# killed TABLE COMMAND: COMMAND starts a consumer and sets $consumer. It is killed after each
# further part of the rows, and then left to end.
killed() {
    local table=$1 part=$((rows / (2 * kills))) round
    for round in $(seq "$kills"); do
        local before
        before=$(count "$table")
        "$2"
        until_true 180 "rows in $table" beyond "$table" $((before + part))
        kill -KILL "$consumer"
        wait "$consumer" 2>/dev/null || true
    done
    "$2"
    until_true 300 "all rows in $table" whole "$table"
    # What was read again may still be on its way.
    local last=-1
    until [ "$last" = "$(count "$table")" ]; do
        last=$(count "$table")
        sleep 3
    done
    kill -KILL "$consumer"
    wait "$consumer" 2>/dev/null || true
    query -c "SELECT '$table: $rows payments, ' || count(*) || ' rows, '
        || count(*) - count(DISTINCT id) || ' too many, after $kills times kill -9' FROM $table"
}

cat >"$work/worker.properties" <<END
bootstrap.servers=$servers
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename=$work/connect-offsets
offset.flush.interval.ms=$flush
listeners=HTTP://127.0.0.1:0
consumer.auto.offset.reset=earliest
END
cat >"$work/sink.properties" <<END
name=theirs
connector.class=io.debezium.connector.jdbc.JdbcSinkConnector
tasks.max=1
topics=shop.public.payments
connection.url=jdbc:postgresql://127.0.0.1:$port/postgres
connection.username=tester
connection.password=
collection.name.format=theirs
insert.mode=insert
primary.key.mode=none
schema.evolution=none
END
connect() {
    setpriv --pdeathsig KILL java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Xmx1g \
        -cp "$peers/*" org.apache.kafka.connect.cli.ConnectStandalone "$work/worker.properties" \
        "$work/sink.properties" >>"$work/connect.log" 2>&1 &
    consumer=$!
    children+=("$consumer")
}
configure ours payments "table: public.ours, \
columns: {id: /id, amount: /amount, day: /day, note: /note}"
ours() {
    worker
    consumer=$worker
}
"$onceward" migrate up --dsn "$server/postgres" >/dev/null
killed theirs connect
killed ours ours
query -c "SELECT 'ours: ' || count(*) || ' rows differ from the source' FROM (
    (TABLE payments EXCEPT TABLE ours) UNION ALL (TABLE ours EXCEPT TABLE payments)) rows"
[ "$(query -c 'SELECT count(*) - count(DISTINCT id) FROM ours')" = 0 ]
