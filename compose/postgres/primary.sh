# Runs once, in the primary's entry point, on a server that listens on its socket only: the role of
# the workers, and the replica's way in. From the next start on, a COMMIT waits for the replica.
psql -v ON_ERROR_STOP=1 -q -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
CREATE ROLE worker LOGIN PASSWORD 'worker';
CREATE ROLE replicator LOGIN REPLICATION PASSWORD 'replicator';
SQL
echo "host replication all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
cat >>"$PGDATA/postgresql.conf" <<SETTINGS
wal_keep_size = 512MB
wal_log_hints = on
synchronous_standby_names = '${STANDBY_NAMES:-}'
SETTINGS
