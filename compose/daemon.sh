# Sourced: a Docker daemon to work with, and the reason where there is none.
#
#   daemon_start    uses the daemon that answers, else starts one of our own; where neither is
#                   possible it returns 1 and $missing says what is missing
#   daemon_stop     ends the one that was started, and nothing else
#
# A daemon of our own has its own socket, folder and process id file, makes no bridge of its own and
# leaves the machine's packet filter alone. Its images are kept with the other dependencies.

daemon_process=
daemon_run=
missing=

docker_answers() { timeout 20 docker version >/dev/null 2>&1; }

find_compose() {
    if docker compose version >/dev/null 2>&1; then
        compose_program=(docker compose)
    elif command -v docker-compose >/dev/null; then
        compose_program=(docker-compose)
    else
        missing="docker-compose, neither as a program nor as a plugin of docker"
        return 1
    fi
}

# What a daemon of our own needs of the machine.
may_start() {
    if [ "$(id -u)" != 0 ]; then
        missing="a Docker daemon that answers; starting one needs root"
    elif [ -d /run/systemd/system ]; then
        missing="a Docker daemon that answers; this machine's init starts and stops its services"
    elif ! grep -q ' cgroup2\? ' /proc/mounts; then
        missing="control groups: none are mounted here"
    elif ! unshare --mount --net --pid --fork true 2>/dev/null; then
        missing="the right to make namespaces"
    else
        return 0
    fi
    return 1
}

daemon_has_ended() { ! kill -0 "$daemon_process" 2>/dev/null; }

daemon_start() {
    if ! command -v docker >/dev/null; then
        missing="the program docker: scripts/setup compose installs it where it may"
        return 1
    fi
    find_compose || return 1
    if docker_answers; then return 0; fi
    may_start || return 1
    local program
    for program in dockerd containerd runc iptables; do
        if ! command -v "$program" >/dev/null; then
            missing="the program $program: scripts/setup compose installs it where it may"
            return 1
        fi
    done
    local root=${ONCEWARD_DEPENDENCIES:-${XDG_CACHE_HOME:-$HOME/.cache}/onceward}/docker
    mkdir -p "$root"
    # Two daemons on one folder would spoil it; the lock goes with this shell.
    exec 7>"$root.lock"
    if ! flock -w "${DAEMON_WAIT:-120}" 7; then
        missing="the folder $root: another run has been using it for minutes"
        return 1
    fi
    if [ "$(df --output=avail -BG "$root" | tr -dc 0-9)" -lt 4 ]; then
        missing="4 GB of disk under $root for images"
        return 1
    fi
    if ! daemon_run=$(mktemp -d -p /run onceward-docker-XXXXXX); then
        missing="the right to write to /run"
        return 1
    fi
    local log=$daemon_run/log
    # It ends with this shell, also where that is killed.
    setpriv --pdeathsig TERM dockerd --host "unix://$daemon_run/socket" --data-root "$root" \
        --exec-root "$daemon_run/exec" --pidfile "$daemon_run/pid" --bridge none \
        --iptables=false --ip-forward=false --ip-masq=false >"$log" 2>&1 7>&- &
    daemon_process=$!
    export DOCKER_HOST=unix://$daemon_run/socket
    local attempt
    for attempt in $(seq 150); do
        if docker_answers; then return 0; fi
        if daemon_has_ended; then break; fi
        sleep 0.2
    done
    missing="a Docker daemon that starts here: $(grep -E 'level=(error|fatal)|^failed' "$log" |
        tail -n 1 | cut -c 1-300)"
    daemon_stop
    return 1
}

daemon_stop() {
    if [ -z "$daemon_process" ]; then return; fi
    kill "$daemon_process" 2>/dev/null
    local attempt
    for attempt in $(seq 150); do
        if daemon_has_ended; then break; fi
        sleep 0.2
    done
    # Its own containerd and shims are gone with it; what it mounted may not be.
    kill -KILL "$daemon_process" 2>/dev/null
    wait "$daemon_process" 2>/dev/null
    grep -o " $daemon_run[^ ]*" /proc/mounts | sort -r | xargs -r umount 2>/dev/null
    rm -rf "$daemon_run"
    daemon_process=
}

# Whether containers run here, with names on a network of their own: a daemon alone does not tell.
containers_work() {
    local network=onceward-probe-$$ said
    missing=
    if ! said=$(docker network create --internal "$network" 2>&1); then
        missing="a network between containers: $said"
    elif ! said=$(timeout 60 docker run --rm --read-only --network "$network" --hostname probe \
        --network-alias probe-alias --volume "$1:/probe:ro" "$BASE_IMAGE" \
        sh -c 'test -e /probe/compose.yaml && getent hosts probe-alias' 2>&1); then
        missing="containers that run: $(echo "$said" | tail -n 1 | cut -c 1-300)"
    fi
    docker network rm "$network" >/dev/null 2>&1
    [ -z "$missing" ]
}
