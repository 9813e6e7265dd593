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
