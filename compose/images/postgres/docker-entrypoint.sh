#!/bin/bash
# Starts a server as the official image does: a data folder that is new is made, and the files of
# /docker-entrypoint-initdb.d run on a server that listens on its socket only.
set -euo pipefail
if [ "${1:-}" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    user=${POSTGRES_USER:-postgres}
    database=${POSTGRES_DB:-$user}
    initdb --username="$user" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") \
        --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 >/dev/null
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
    pg_ctl -w -o "-c listen_addresses=''" start >/dev/null
    export PGUSER=$user
    if [ "$database" != postgres ]; then createdb "$database"; fi
    for file in /docker-entrypoint-initdb.d/*; do
        case "$file" in
            *.sh) . "$file" ;;
            *.sql) psql -q -v ON_ERROR_STOP=1 -d "$database" -f "$file" ;;
        esac
    done
    pg_ctl -w -m fast stop >/dev/null
fi
exec "$@"
