package inbox_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

var ctx = context.Background()

// dsn returns the database of the tests, or skips the test.
func dsn(t *testing.T) string { return fromEnvironment(t, "ONCEWARD_TEST_DSN") }

func fromEnvironment(t *testing.T, name string) string {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		t.Skip(name + " is not set")
	}
	return text
}

// The tables and ledgers of the tests are made once in each run.
var prepare = sync.OnceValue(func() error {
	connection, err := pgx.Connect(ctx, os.Getenv("ONCEWARD_TEST_DSN"))
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, `
		SELECT pg_advisory_lock(hashtext('go tests of the inbox'));
		CREATE TABLE IF NOT EXISTS go_effects (operation text NOT NULL, value integer NOT NULL);
		SELECT onceward.register_ledger('go_calls');
		SELECT onceward.register_ledger('go_leases', 'lease');
		SELECT onceward.register_ledger('go_bare', stores_results => false)`)
	return err
})

// openPool opens a pool of a few connections to the database, or to what config changes it to.
func openPool(t *testing.T, config ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	options, err := pgxpool.ParseConfig(dsn(t))
	require(t, err)
	require(t, prepare())
	options.MaxConns = 4
	for _, change := range config {
		change(options)
	}
	pool, err := pgxpool.NewWithConfig(ctx, options)
	require(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// newOperation returns an operation that no other test and no other run has.
func newOperation(t *testing.T) string { return "go " + t.Name() + " " + inbox.NewUUID7().String() }

func newInbox(t *testing.T, ledger string) *inbox.Inbox {
	return inbox.New(inbox.Options{Operation: newOperation(t), Ledger: ledger})
}

func require(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func isError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got the error %v, want %v", err, want)
	}
}

// effect inserts a row of the operation; effects counts the committed ones.
func effect(ctx context.Context, tx pgx.Tx, operation string) error {
	_, err := tx.Exec(ctx, "INSERT INTO go_effects VALUES ($1, 1)", operation)
	return err
}

func effects(t *testing.T, pool *pgxpool.Pool, operation string) (count int) {
	t.Helper()
	require(t, pool.QueryRow(ctx, "SELECT count(*) FROM go_effects WHERE operation = $1", operation).
		Scan(&count))
	return count
}

// counted counts the transactions that a pool lends.
type counted struct {
	*pgxpool.Pool
	begins atomic.Int32
}

func (c *counted) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	c.begins.Add(1)
	return c.Pool.BeginTx(ctx, options)
}

// inTx runs a function in a transaction that commits.
func inTx(t *testing.T, pool *pgxpool.Pool, work func(tx pgx.Tx) error) {
	t.Helper()
	require(t, pgx.BeginFunc(ctx, pool, work))
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q does not contain %q", text, part)
	}
}
