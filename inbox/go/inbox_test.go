package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

// never is a function that must not run.
func never(t *testing.T) func(context.Context, pgx.Tx) (int, error) {
	return func(context.Context, pgx.Tx) (int, error) {
		t.Error("the function ran")
		return 0, nil
	}
}

func TestAnErrorHasItsSQLStateAndItsCause(t *testing.T) {
	pool := openPool(t)
	tx, err := pool.Begin(ctx)
	require(t, err)
	defer tx.Rollback(ctx)
	_, err = newInbox(t, "go no such ledger").Claim(ctx, tx, "k", inbox.ClaimOptions{})
	err = fmt.Errorf("in the shop: %w", err)
	isError(t, err, inbox.ErrLedger)
	equal(t, "another one", errors.Is(err, inbox.ErrArgument), false)
	var own *inbox.Error
	equal(t, "own error", errors.As(err, &own), true)
	equal(t, "SQLSTATE", own.SQLState(), "OW002")
	contains(t, own.Hint, "register_ledger")
	var cause *pgconn.PgError
	equal(t, "driver's error", errors.As(err, &cause), true)
}

func TestWhichErrorsAreRetryable(t *testing.T) {
	for code, retryable := range map[string]bool{"40001": true, "40P01": true, "55P03": true,
		"57P01": true, "08006": true, "25P03": true, "23505": false, "OW004": false, "28P01": false} {
		err := fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})
		equal(t, code, inbox.IsRetryable(err), retryable)
	}
	equal(t, "no error", inbox.IsRetryable(nil), false)
	equal(t, "connection lost", inbox.IsRetryable(io.ErrUnexpectedEOF), true)
	pool := openPool(t)
	connection, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	require(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = connection.Exec(ended, "SELECT 1")
	equal(t, "the caller's context ended", inbox.IsRetryable(err), false)
	require(t, connection.Close(ctx))
	_, err = connection.Exec(ctx, "SELECT 1")
	equal(t, "closed connection", inbox.IsRetryable(err), true)
	_, err = pgx.Connect(ctx, "host=127.0.0.1 port=1 connect_timeout=1")
	equal(t, "no server", inbox.IsRetryable(err), true)
}

func TestAnotherVersionIsRefused(t *testing.T) {
	pool := openPool(t)
	for found, upgrade := range map[int]string{0: "schema", 2: "package"} {
		schema := fmt.Sprintf("go_version_%d", found)
		text := "CREATE SCHEMA IF NOT EXISTS " + schema
		if found > 0 {
			text += fmt.Sprintf("; CREATE OR REPLACE FUNCTION %s.inbox_version() RETURNS integer "+
				"LANGUAGE sql AS 'SELECT %d'", schema, found)
		}
		_, err := pool.Exec(ctx, text)
		require(t, err)
		in := inbox.New(inbox.Options{Operation: "pay", Schema: schema})
		_, err = inbox.Once(ctx, pool, in, "k", inbox.OnceOptions{}, never(t))
		var version *inbox.VersionError
		equal(t, "version error", errors.As(err, &version), true)
		equal(t, "found", version.Found, found)
		equal(t, "wanted", version.Wanted, 1)
		contains(t, version.Error(), "upgrade the "+upgrade)
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	pool, in := openPool(t), newInbox(t, "go_calls")
	_, err := in.Claim(ctx, nil, "k", inbox.ClaimOptions{})
	isError(t, err, inbox.ErrArgument)
	inTx(t, pool, func(tx pgx.Tx) error {
		// These are refused before anything is sent, so the transaction continues.
		isError(t, in.Finish(ctx, tx, inbox.Claim{}, inbox.Result{Status: 1 << 40}),
			inbox.ErrArgument)
		isError(t, in.FinishMany(ctx, tx, []inbox.Claim{{Outcome: inbox.Fresh},
			{Outcome: inbox.Fresh, Attempt: inbox.NewUUID7()}}, 0), inbox.ErrArgument)
		require(t, in.FinishMany(ctx, tx, nil, 0))
		for _, wrong := range []inbox.Options{{}, {Operation: "a\x00b"}, {Operation: "a", Kind: "\x00"},
			{Operation: "a", Tenant: "acme\x00x"}, {Operation: "a", Tenant: "\xff"},
			{Operation: "a", Ledger: "go_calls\x00"}, {Operation: "a", Schema: "onceward\x00"}} {
			_, err := inbox.New(wrong).Claim(ctx, tx, "k", inbox.ClaimOptions{})
			isError(t, err, inbox.ErrArgument)
			_, err = inbox.New(wrong).Lease(ctx, tx, "k", inbox.LeaseOptions{})
			isError(t, err, inbox.ErrArgument)
		}
		_, err := tx.Exec(ctx, "SELECT 1")
		return err
	})
	for _, key := range []string{"", "a\x00b"} {
		_, err = inbox.Once(ctx, pool, in, key, inbox.OnceOptions{}, never(t))
		isError(t, err, inbox.ErrArgument)
		_, err = inbox.OnceOutside(ctx, pool, newInbox(t, "go_leases"), key, inbox.OutsideOptions{},
			func(context.Context, inbox.UUID) (int, error) { t.Error("called"); return 0, nil })
		isError(t, err, inbox.ErrArgument)
	}
	_, err = inbox.Once(ctx, pool, inbox.New(inbox.Options{Ledger: "go_calls"}), "k",
		inbox.OnceOptions{}, never(t))
	isError(t, err, inbox.ErrArgument)
	_, err = inbox.Once(ctx, pool, newInbox(t, "go_bare"), "k", inbox.OnceOptions{},
		func(context.Context, pgx.Tx) (int, error) { return 1, nil })
	isError(t, err, inbox.ErrLedger)
}

func TestACommitWithoutAResultIsUnfinished(t *testing.T) {
	tx, err := openPool(t).Begin(ctx)
	require(t, err)
	_, err = newInbox(t, "go_calls").Claim(ctx, tx, "k", inbox.ClaimOptions{})
	require(t, err)
	err = inbox.Translated(tx.Commit(ctx))
	isError(t, err, inbox.ErrUnfinished)
	var cause *pgconn.PgError
	equal(t, "driver's error", errors.As(err, &cause), true)
	equal(t, "no error", inbox.Translated(nil) == nil, true)
}

func TestAClosedTransactionClaimsNothing(t *testing.T) {
	pool := openPool(t)
	tx, err := pool.Begin(ctx)
	require(t, err)
	require(t, tx.Commit(ctx))
	_, err = newInbox(t, "go_calls").Claim(ctx, tx, "k", inbox.ClaimOptions{})
	isError(t, err, pgx.ErrTxClosed)
}

// all calls every function of the package and ends with one effect.
func all(t *testing.T, pool *pgxpool.Pool) {
	operation := newOperation(t)
	in := inbox.New(inbox.Options{Operation: operation, Ledger: "go_calls"})
	options := inbox.ClaimOptions{Fingerprint: inbox.FingerprintOf("x"), Attempt: inbox.NewUUID7(),
		MintedAt: time.Now()}
	result := inbox.Result{Status: 201, Body: []byte{0, 255, '\'', '\\'},
		Headers: []inbox.Header{{Name: "a", Value: "ü\"'\\"}}}
	for range 2 {
		inTx(t, pool, func(tx pgx.Tx) error {
			claim, err := in.Claim(ctx, tx, "k\xff", options)
			require(t, err)
			if claim.Fresh() {
				return in.Finish(ctx, tx, claim, result)
			}
			equal(t, "outcome", claim.Outcome, inbox.Duplicate)
			equal(t, "mine", claim.Mine, true)
			equal(t, "status", claim.Status, 201)
			equal(t, "header", claim.Headers[0], result.Headers[0])
			equal(t, "body", string(claim.Body), string(result.Body))
			equal(t, "just now", time.Since(claim.StoredAt).Abs() < time.Minute, true)
			many, err := in.ClaimMany(ctx, tx, []string{"m1", "m2", "m1"}, inbox.ManyOptions{
				Fingerprints: []inbox.UUID{options.Fingerprint, {}, options.Fingerprint},
				MintedAt:     []time.Time{options.MintedAt, {}, options.MintedAt}})
			require(t, err)
			equal(t, "fresh", many[0].Fresh() && many[1].Fresh() && !many[2].Fresh(), true)
			return in.FinishMany(ctx, tx, many, 200)
		})
	}
	leases := inbox.New(inbox.Options{Operation: operation, Ledger: "go_leases"})
	inTx(t, pool, func(tx pgx.Tx) error {
		wanted := inbox.LeaseOptions{Hold: 90 * time.Minute, MintedAt: options.MintedAt}
		lease, err := leases.Lease(ctx, tx, "k", wanted)
		require(t, err)
		equal(t, "remaining", lease.Remaining, wanted.Hold)
		for _, call := range []func() (bool, error){
			func() (bool, error) { return leases.ExtendLease(ctx, tx, lease, time.Minute) },
			func() (bool, error) { return leases.ReleaseLease(ctx, tx, lease) },
		} {
			yes, err := call()
			require(t, err)
			equal(t, "still ours", yes, true)
		}
		lease, err = leases.Lease(ctx, tx, "k", wanted)
		require(t, err)
		yes, err := leases.EndLease(ctx, tx, lease, result)
		require(t, err)
		equal(t, "ended", yes, true)
		lease, err = leases.Lease(ctx, tx, "k", wanted)
		equal(t, "body", string(lease.Body), string(result.Body))
		return err
	})
	c := &charger{in: leases.ForTenant("t")}
	_, err := c.charge(ctx, pool, inbox.OutsideOptions{}, nil)
	require(t, err)
	got, err := inbox.Once(ctx, pool, in.ForTenant("t"), "k", inbox.OnceOptions{},
		func(context.Context, pgx.Tx) (string, error) { return "done", nil })
	require(t, err)
	equal(t, "value", got, "done")
}

// Poolers in transaction mode need a mode without prepared statements.
func TestEveryModeOfPgxWorks(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement,
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			all(t, openPool(t, func(config *pgxpool.Config) {
				config.ConnConfig.DefaultQueryExecMode = mode
			}))
		})
	}
}

func TestARoleWithAGrantAndNoTablesCanDoEverything(t *testing.T) {
	owner := openPool(t)
	_, err := owner.Exec(ctx, `DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'go_app') THEN
				CREATE ROLE go_app;
			END IF;
		END $$;
		SELECT onceward.grant_inbox('go_app', 'go_calls'),
			onceward.grant_inbox('go_app', 'go_leases')`)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42501" {
		t.Skip("the user may not create roles")
	}
	require(t, err)
	app := openPool(t, func(config *pgxpool.Config) {
		config.ConnConfig.RuntimeParams["role"] = "go_app"
	})
	var reads bool
	require(t, app.QueryRow(ctx, "SELECT has_table_privilege('onceward.leases', 'SELECT')").
		Scan(&reads))
	equal(t, "reads tables", reads, false)
	all(t, app)
	_, err = inbox.Once(ctx, app, newInbox(t, "go_bare"), "k", inbox.OnceOptions{}, never(t))
	isError(t, err, inbox.ErrNotAllowed)
}

func TestUUIDs(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	id := inbox.NewUUID7()
	minted, ok := inbox.MintedAtOfUUID7(id.String())
	equal(t, "version 7", ok, true)
	equal(t, "time", !minted.Before(before) && !minted.After(time.Now()), true)
	// The example of RFC 9562.
	minted, ok = inbox.MintedAtOfUUID7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	equal(t, "version 7", ok, true)
	equal(t, "time", minted.Format(time.RFC3339), "2022-02-22T19:22:22Z")
	for _, other := range []string{"", "order-17", "919108f7-52d1-4320-9bac-f847db4148a8",
		"017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "017f22e279b07cc398c4dc0c0c07398f"} {
		_, ok = inbox.MintedAtOfUUID7(other)
		equal(t, other, ok, false)
	}
	text, err := json.Marshal(id)
	require(t, err)
	var again inbox.UUID
	require(t, json.Unmarshal(text, &again))
	equal(t, "from JSON", again, id)
	_, err = inbox.ParseUUID("x")
	isError(t, err, inbox.ErrArgument)
}
