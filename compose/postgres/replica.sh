#!/bin/bash
# The replica's entry point: a copy of the primary, then a server that follows it. The name in the
# connection is the one that the primary waits for.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # The first copy may be cut short; what stands there then is no data folder.
    find "$PGDATA" -mindepth 1 -delete
    pg_basebackup --pgdata="$PGDATA" --wal-method=stream --checkpoint=fast --write-recovery-conf \
        --dbname="host=postgres-1 user=replicator password=replicator application_name=replica"
    chmod 700 "$PGDATA"
fi
# As a primary it waits for nobody: the one that it would wait for is gone.
exec postgres -c synchronous_standby_names=
