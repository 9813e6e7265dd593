# For scripts that source it from the repository's root: a private PostgreSQL on 127.0.0.1, which is
# stopped and removed when the script ends.
#
#   start_postgres [OPTION ...]   further options of the server; sets $server (its address, without
#                                 a database), $port, $programs and $work, a folder for the script

# as_server COMMAND ...: as root PostgreSQL refuses to run.
as_server() {
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

start_postgres() {
    programs=${ONCEWARD_POSTGRES_PROGRAMS:-$(pg_config --bindir)}
    work=$(mktemp -d)
    chmod 755 "$work"
    trap 'as_server "$programs/pg_ctl" -D "$work/postgres/data" -m immediate stop >/dev/null 2>&1 ||
        true
        rm -rf "$work"' EXIT
    mkdir "$work/postgres"
    [ "$(id -u)" != 0 ] || chown postgres "$work/postgres"
    # Not named as the schema: what tests create would be made in it.
    as_server "$programs/initdb" -D "$work/postgres/data" -U tester -A trust -E UTF8 --no-locale \
        >/dev/null
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    as_server "$programs/pg_ctl" -D "$work/postgres/data" -w -l "$work/postgres/log" start \
        -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= $*" >/dev/null
    server=postgresql://tester@127.0.0.1:$port
}
