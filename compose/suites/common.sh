# Sourced by each suite: a project of its own, verbs for the story, and the check at the end.
# $root, $suite and the images come from compose/run.
set -euo pipefail
. "$root/compose/daemon.sh"
find_compose
project=onceward-$suite-$$
logs=$root/build/compose/$suite
partitions=8
keys=0      # distinct ones that were produced
messages=0  # with those that came twice
producer=
rm -rf "$logs"
mkdir -p "$logs"

compose() {
    "${compose_program[@]}" --project-name "$project" --file "$root/compose/compose.yaml" "$@" \
        >>"$logs/compose.log" 2>&1 || fail "compose $*: $(tail -n 3 "$logs/compose.log")"
}
# The containers of a service, one in a line.
containers() {
    docker ps --no-trunc --quiet "${@:2}" \
        --filter "label=com.docker.compose.project=$project" \
        --filter "label=com.docker.compose.service=$1"
}
say() { printf '   %s\n' "$*"; }
fail() {
    echo "   FAILED: $*" >&2
    return 1
}

# eventually SECONDS WHAT COMMAND...: the one place that waits, and never longer than it says.
eventually() {
    local seconds=$1 what=$2 deadline
    deadline=$((SECONDS + seconds))
    shift 2
    until "$@"; do
        if [ $SECONDS -ge $deadline ]; then fail "not within $seconds s: $what"; fi
        sleep 0.2
    done
}

finish() { :; }
clean_up() {
    local status=$? container
    touch "$logs/stop"
    if [ $status != 0 ]; then
        for container in $(docker ps --all --quiet \
            --filter "label=com.docker.compose.project=$project"); do
            docker logs "$container" >"$logs/$(docker inspect --format '{{.Name}}' "$container" |
                tr -d /).log" 2>&1 || true
        done
    fi
    docker ps --quiet --filter "name=$project-producer" |
        xargs -r docker kill >/dev/null 2>&1 || true
    compose down --volumes --timeout 3 --remove-orphans || true
    return $status
}
trap clean_up EXIT

# --- the servers

# Each container of a service, of which there is one at least.
healthy() {
    local states
    states=$(containers "$1" | xargs -r docker inspect --format '{{.State.Health.Status}}')
    [ "$(sort -u <<<"$states")" = healthy ]
}
# servers SERVICE...: up and healthy, with the topic and the schema.
servers() {
    compose up -d --no-deps "$@"
    for service in "$@"; do
        if [ "$service" != toxiproxy ]; then
            eventually 240 "$service is healthy" healthy "$service"
        fi
    done
}
prepare() {
    compose run --rm --no-deps topic
    compose run --rm --no-deps migrate
}
primary=postgres-1
# sql STATEMENT [SERVICE]: as the owner, on the primary unless another server is named.
sql() {
    docker exec "$(containers "${2:-$primary}")" psql -X -q -A -t -U owner -d onceward -c "$1"
}
answers() { [ "$(sql "$1" "${3:-$primary}" 2>/dev/null)" = "$2" ]; }
replica_in_step() {
    eventually 30 "the replica is synchronous" \
        answers "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'" 1
}

# --- workers

# workers N: so many of the service `worker`, with those that there are kept.
workers() { compose up -d --no-deps --no-recreate --scale "worker=$1" worker; }
# How many processes own partitions.
owners() {
    sql "SELECT count(DISTINCT split_part(owner_name, '/', 1)) FROM onceward.fences"
}
owns() { [ "$(owners)" = "$1" ]; }

# --- records

# NDJSON with the ids FIRST to LAST, and each tenth of them a second time, five records later.
records() {
    awk -v first="$1" -v last="$2" 'BEGIN {
        for (i = first; i <= last; ++i) {
            print "{\"id\": \"key-" i "\", \"amount\": " i / 100 "}"
            if (i % 10 == 5) print "{\"id\": \"key-" i - 4 "\", \"amount\": 0}"
        }
    }'
}
# produce RATE: what comes in goes to the topic, so many a second, in a container of its own.
produce() {
    docker run --rm --interactive --name "$project-producer-$BASHPID" \
        --label "com.docker.compose.project=$project" --network "${project}_default" \
        --dns-opt timeout:1 --dns-opt attempts:1 --read-only "$ONCEWARD_IMAGE" \
        produce - --bootstrap-server kafka-1:9092,kafka-2:9092,kafka-3:9092 --topic payments \
        --key-field /id --rate "$1" >>"$logs/produce.log" 2>&1
}
# Without an end: load RATE begins, load_ends waits until all of it is acknowledged.
until_stopped() {
    local next=1
    while [ ! -e "$logs/stop" ]; do
        records $next $((next + 999))
        next=$((next + 1000))
    done
    echo $((next - 1)) >"$logs/keys"
}
load() {
    until_stopped | produce "$1" &
    producer=$!
}
load_ended() { ! kill -0 "$producer" 2>/dev/null; }
load_ends() {
    touch "$logs/stop"
    eventually 180 "the producer is through" load_ended
    wait "$producer" || fail "the producer says: $(tail -n 3 "$logs/produce.log")"
    keys=$(cat "$logs/keys")
    messages=$((keys + keys / 10))
}

# --- progress, and the check

applied() { sql "SELECT coalesce(sum(applied), 0) FROM onceward.fences"; }
applied_beyond() { [ "$(applied)" -gt "$1" ]; }
# What is true after some more work than now.
advance() {
    local from
    from=$(applied)
    eventually "${1:-120}" "more than $from applied" applied_beyond $((from + 200))
    say "applied: $from, then $(applied)"
}
log_end() {
    docker exec "$(containers kafka-1)" /opt/kafka/bin/kafka-get-offsets.sh \
        --bootstrap-server kafka-1:9092 --topic payments | awk -F: '{sum += $3} END {print sum}'
}
passed() { [ "$(sql "SELECT sum(next_offset) FROM onceward.fences")" = "$1" ]; }
equal() {
    say "$1: $2"
    [ "$2" = "$3" ] || fail "$1: $2, expected $3"
}

# Nothing lost, nothing twice, after the load has ended: by PostgreSQL and the brokers, without a
# word of the product's.
check() {
    local end
    load_ends
    end=$(log_end)
    equal "messages in the log" "$end" "$messages"
    eventually 240 "the fences reach the log's end" passed "$end"
    equal "rows" "$(sql "SELECT count(*) FROM payments")" "$keys"
    equal "distinct keys" "$(sql "SELECT count(DISTINCT id) FROM payments")" "$keys"
    equal "keys without a row" "$(sql "SELECT count(*) FROM generate_series(1, $keys) AS number
        WHERE 'key-' || number NOT IN (SELECT id FROM payments)")" 0
    equal "applied" "$(applied)" "$keys"
    equal "duplicates" "$(sql "SELECT sum(duplicates) FROM onceward.fences")" $((messages - keys))
    equal "dead letters" "$(sql "SELECT count(*) FROM onceward.dead_letters")" 0
    equal "partitions whose totals are not what they passed" "$(sql "
        SELECT count(*) FROM onceward.fences WHERE next_offset - first_offset <>
            applied + duplicates + conflicts + dead_lettered + skipped")" 0
    equal "partitions" "$(sql "SELECT count(*) FROM onceward.fences")" $partitions
}
