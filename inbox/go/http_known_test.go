package inbox_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

func TestKeysWithATime(t *testing.T) {
	s := newShop(t, openPool(t), inbox.HandlerOptions{MintedAt: inbox.MintedAtOfUUID7}, nil)
	key := inbox.NewUUID7().String()
	equal(t, "status", s.send("POST", "/", "", key).status, 201)
	equal(t, "status", s.send("POST", "/", "", key).status, 201)
	equal(t, "runs", s.runs.Load(), 1)
	for _, future := range []string{"ffffffff-ffff-7fff-bfff-ffffffffffff",
		"f0000000-0000-7000-8000-000000000000"} {
		s.isProblem(s.send("POST", "/", "", future), 400, "key-malformed")
	}
	s.isProblem(s.send("POST", "/", "", "abc"), 400, "key-malformed")
	equal(t, "runs", s.runs.Load(), 1)
}

func TestAMistakeOfTheProgramIsNotTheClients400(t *testing.T) {
	key := inbox.NewUUID7().String()
	// There is no database: it is not asked.
	s := newShop(t, nil, inbox.HandlerOptions{Inbox: inbox.New(inbox.Options{}),
		MintedAt: inbox.MintedAtOfUUID7}, nil)
	s.isProblem(s.send("POST", "/", "", key), 500, "internal")
	equal(t, "reports", s.reports.Load(), 1)
	isError(t, *s.reported.Load(), inbox.ErrArgument)
	for _, tenant := range []string{"acme\x00x", "\xff"} {
		s = newShop(t, nil, inbox.HandlerOptions{MintedAt: inbox.MintedAtOfUUID7,
			Tenant: func(*http.Request) string { return tenant }}, nil)
		s.isProblem(s.send("POST", "/", "", key), 500, "internal")
		equal(t, "reports", s.reports.Load(), 1)
		isError(t, *s.reported.Load(), inbox.ErrArgument)
		equal(t, "runs", s.runs.Load(), 0)
	}
}

// withoutStatus lends transactions that send a result without a status, which is OW004.
type withoutStatus struct{ *pgxpool.Pool }

func (w withoutStatus) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	tx, err := w.Pool.BeginTx(ctx, options)
	return txWithoutStatus{tx}, err
}

type txWithoutStatus struct{ pgx.Tx }

func (w txWithoutStatus) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	sql = strings.ReplaceAll(sql, "$3::integer", "nullif($3::integer, $3::integer)")
	return w.Tx.Query(ctx, sql, args...)
}

func TestAResultThatIsRefusedIsNotTheClients400(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, withoutStatus{pool},
		inbox.HandlerOptions{MintedAt: inbox.MintedAtOfUUID7}, nil)
	s.isProblem(s.send("POST", "/", "", inbox.NewUUID7().String()), 500, "internal")
	equal(t, "runs", s.runs.Load(), 1)
	equal(t, "reports", s.reports.Load(), 1)
	isError(t, *s.reported.Load(), inbox.ErrArgument)
	equal(t, "effects", effects(t, pool, s.operation), 0)
}

func TestKeysThatCannotBeJudged(t *testing.T) {
	pool := openPool(t)
	_, err := pool.Exec(ctx, `SELECT onceward.register_ledger('go_memory'),
		onceward.register_ledger('go_memory_leases', 'lease');
		UPDATE onceward.ledgers SET memory_begins = '2025-01-01' WHERE name LIKE 'go_memory%'`)
	require(t, err)
	in := newInbox(t, "go_memory")
	s := newShop(t, pool, inbox.HandlerOptions{Inbox: in, MintedAt: inbox.MintedAtOfUUID7}, nil)
	old := "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
	s.isProblem(s.send("POST", "/", "", old), 412, "key-expired")
	minted, _ := inbox.MintedAtOfUUID7(old)
	_, err = inbox.Once(ctx, pool, in, old, inbox.OnceOptions{MintedAt: minted}, never(t))
	isError(t, err, inbox.ErrExpired)
	c := &charger{in: newInbox(t, "go_memory_leases")}
	_, err = c.charge(ctx, pool, inbox.OutsideOptions{MintedAt: minted}, nil)
	isError(t, err, inbox.ErrExpired)
}

func TestClaimsWithoutAResult(t *testing.T) {
	pool := openPool(t)
	ledger := "go_" + inbox.NewUUID7().String()
	_, err := pool.Exec(ctx, "SELECT onceward.register_ledger($1, stores_results => false)", ledger)
	require(t, err)
	in := newInbox(t, ledger)
	s := newShop(t, pool, inbox.HandlerOptions{Inbox: in}, nil)
	inTx(t, pool, func(tx pgx.Tx) error {
		_, err := in.Claim(ctx, tx, "k", inbox.ClaimOptions{})
		return err
	})
	s.isProblem(s.send("POST", "/", "", "k"), 410, "answer-gone")
	_, err = inbox.Once(ctx, pool, in, "k", inbox.OnceOptions{}, never(t))
	isError(t, err, inbox.ErrOutcomeUnknown)
	// register_ledger() refuses this, and did not before migration 005: such ledgers are there.
	_, err = pool.Exec(ctx, `SELECT onceward.make_results(l.ledger), onceward.write_inbox(l.ledger)
		FROM onceward.ledgers l WHERE l.name = $1`, ledger)
	require(t, err)
	s.isProblem(s.send("POST", "/", "", "k"), 409, "outcome-unknown")
	_, err = inbox.Once(ctx, pool, in, "k", inbox.OnceOptions{}, never(t))
	isError(t, err, inbox.ErrOutcomeUnknown)
}

func TestStoredResultsOfOtherPrograms(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, nil)
	in := inbox.New(inbox.Options{Operation: s.operation, Ledger: "go_calls"})
	for key, result := range map[string]inbox.Result{"done": {}, "body": {Body: []byte("b")},
		"failed": {Failed: true}} {
		inTx(t, pool, func(tx pgx.Tx) error {
			claim, err := in.Claim(ctx, tx, key, inbox.ClaimOptions{})
			require(t, err)
			return in.Finish(ctx, tx, claim, result)
		})
	}
	equal(t, "done", s.send("POST", "/", "", "done").status, 204)
	equal(t, "body", s.send("POST", "/", "", "body").status, 200)
	equal(t, "failed", s.send("POST", "/", "", "failed").status, 422)
}
