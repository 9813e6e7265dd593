# Sourced by scripts that need a real broker of their own on 127.0.0.1, from the repository's
# folder: start_kafka FOLDER PORT starts one with its controller at PORT + 1 and waits until it
# serves; $broker is its process and $kafka_version its version. The caller ends it with stop_kafka.
kafka_version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' scripts/kafka/pom.xml)
start_kafka() {
    ONCEWARD_KAFKA_HEAP=1g scripts/kafka/run-broker "$1" "$2" "$(($2 + 1))" >"$1/broker.log" 2>&1 &
    broker=$!
    for _ in $(seq 120); do
        # A port that only listens is no broker yet.
        if grep -q 'Kafka Server started' "$1/broker.log"; then return; fi
        if ! kill -0 "$broker" 2>/dev/null; then break; fi
        sleep 0.5
    done
    tail -n 20 "$1/broker.log" >&2
    exit 1
}
stop_kafka() {
    kill "$broker" 2>/dev/null || true
    wait "$broker" 2>/dev/null || true
}
