# For the other scripts of this folder: a Kafka broker, and the worker.
onceward=$PWD/build/release/onceward
if [ ! -x "$onceward" ]; then
    echo "tests/debezium/run: $onceward is missing; make debezium-test builds it" >&2
    exit 1
fi
broker_port=$(free_port)
servers=127.0.0.1:$broker_port
setpriv --pdeathsig KILL scripts/kafka/run-broker "$work/broker" "$broker_port" "$(free_port)" \
    >"$work/broker.log" 2>&1 &
children+=("$!")
until_true 60 "the broker" grep -qs "Kafka Server started" "$work/broker.log"

# worker: sets $worker.
worker() {
    setpriv --pdeathsig KILL "$onceward" run -c "$work/onceward.yaml" >>"$work/worker.log" 2>&1 &
    worker=$!
    children+=("$worker")
}
topic_there() {
    [ -d "$work/broker/log/$1-0" ]
}
# configure GROUP TABLE SINK: the worker's file, for changes of the source's TABLE.
configure() {
    cat >"$work/onceward.yaml" <<END
group: $1
kafka:
  bootstrap_servers: "$servers"
  properties: {session.timeout.ms: 6000, heartbeat.interval.ms: 2000}
admin: {listen: "off"}
postgres: {dsn: "host=127.0.0.1 port=$port user=tester dbname=postgres"}
topics:
  - name: shop.public.$2
    envelope: debezium
    key: {preset: debezium-postgres}
    tombstones: skip
    sink: {$3}
END
}
