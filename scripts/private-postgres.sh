# For scripts that source it from the repository's root: a private PostgreSQL on 127.0.0.1, which is
# stopped and removed when the script ends.
#
#   start_postgres [OPTION ...]   further options of the server; sets $server (its address, without
#                                 a database), $port, $programs and $work, a folder for the script
#   start_pgbouncer               PgBouncer before it, in transaction mode with two sessions; sets
#                                 $pooler, as $server. Fails if PgBouncer is not installed

# as_server COMMAND ...: as root PostgreSQL refuses to run.
as_server() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

stop_servers() {
    if [ -f "$work/postgres/pgbouncer.pid" ]; then
        kill "$(cat "$work/postgres/pgbouncer.pid")" 2>/dev/null || true
    fi
    as_server "$programs/pg_ctl" -D "$work/postgres/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$work"
}

start_postgres() {
    programs=${ONCEWARD_POSTGRES_PROGRAMS:-$(pg_config --bindir)}
    work=$(mktemp -d)
    chmod 755 "$work"
    trap stop_servers EXIT
    mkdir "$work/postgres"
    [ "$(id -u)" != 0 ] || chown postgres "$work/postgres"
    # Not named as the schema: what tests create would be made in it.
    as_server "$programs/initdb" -D "$work/postgres/data" -U tester -A trust -E UTF8 --no-locale \
        >/dev/null
    port=$(free_port)
    as_server "$programs/pg_ctl" -D "$work/postgres/data" -w -l "$work/postgres/log" start \
        -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= $*" >/dev/null
    server=postgresql://tester@127.0.0.1:$port
}

start_pgbouncer() {
    local program pooler_port tries
    # A user's PATH does not have the folder where Debian puts it.
    program=$(PATH=$PATH:/usr/sbin command -v pgbouncer) || return 1
    pooler_port=$(free_port)
    # Clients share two sessions: a transaction is often in another one than the client's last.
    cat >"$work/pgbouncer.ini" <<E
[databases]
postgres = host=127.0.0.1 port=$port user=tester
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler_port
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
query_wait_timeout = 20
ignore_startup_parameters = extra_float_digits
logfile = $work/postgres/pgbouncer.log
pidfile = $work/postgres/pgbouncer.pid
E
    as_server "$program" -q -d "$work/pgbouncer.ini"
    for tries in $(seq 100); do
        if "$programs/pg_isready" -q -h 127.0.0.1 -p "$pooler_port" -d postgres; then
            pooler=postgresql://tester@127.0.0.1:$pooler_port
            return
        fi
        sleep 0.1
    done
    cat "$work/postgres/pgbouncer.log" >&2
    exit 1
}
