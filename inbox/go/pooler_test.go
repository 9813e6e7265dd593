package inbox_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolerDSN returns the way to the database through PgBouncer in transaction mode, with two
// sessions of the server, or skips the test.
func poolerDSN(t *testing.T) string {
	t.Helper()
	return fromEnvironment(t, "ONCEWARD_TEST_POOLER_DSN")
}

// throughPooler opens a pool of one connection to PgBouncer, as a program does: by the DSN alone.
func throughPooler(t *testing.T, mode string) *pgxpool.Pool {
	t.Helper()
	require(t, prepare())
	options, err := pgxpool.ParseConfig(poolerDSN(t) + "?" +
		url.Values{"default_query_exec_mode": {mode}, "pool_max_conns": {"1"}}.Encode())
	require(t, err)
	pool, err := pgxpool.NewWithConfig(ctx, options)
	require(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// session is what a claim may leave in a session of the server.
type session struct {
	pid            int
	lock, idle, at string
}

func sessionOf(t *testing.T, pool *pgxpool.Pool) (found session) {
	t.Helper()
	require(t, pool.QueryRow(ctx, `SELECT pg_backend_pid(), current_setting('lock_timeout'),
		current_setting('idle_in_transaction_session_timeout'),
		current_setting('synchronous_commit')`).
		Scan(&found.pid, &found.lock, &found.idle, &found.at))
	return found
}

func TestThroughAPoolerEveryCallWorksInAnySession(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			pool, other := throughPooler(t, mode), throughPooler(t, mode)
			pids := map[int]bool{}
			for round := range 4 {
				// Holds the session that PgBouncer would give next.
				var held pgx.Tx
				if round%2 == 1 {
					var err error
					held, err = other.Begin(ctx)
					require(t, err)
				}
				all(t, pool)
				found := sessionOf(t, pool)
				pids[found.pid] = true
				equal(t, "settings", found, session{found.pid, "0", "0", "on"})
				if held != nil {
					require(t, held.Rollback(ctx))
				}
			}
			equal(t, "sessions", len(pids), 2)
		})
	}
}

func TestThroughAPoolerACommitWithoutAnAnswerIsOneEffect(t *testing.T) {
	for _, lost := range []string{"answer", "COMMIT"} {
		t.Run(lost, func(t *testing.T) {
			direct, p := openPool(t), newPayer(t)
			cut := newProxyTo(t, poolerDSN(t))
			if lost == "answer" {
				cut.loseAnswers.Store(1)
			} else {
				cut.loseCommits.Store(1)
			}
			pool := cut.pool(t, func(config *pgxpool.Config) {
				config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
			})
			p.paysOnce(t, pool, direct, cut)
		})
	}
}
