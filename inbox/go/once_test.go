package inbox_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

type payment struct {
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

// payer counts how often its function runs.
type payer struct {
	operation string
	in        *inbox.Inbox
	runs      atomic.Int32
}

func newPayer(t *testing.T) *payer {
	operation := newOperation(t)
	return &payer{operation: operation,
		in: inbox.New(inbox.Options{Operation: operation, Ledger: "go_calls"})}
}

func (p *payer) pay(db inbox.Beginner, options inbox.OnceOptions, then func(tx pgx.Tx) error) (
	payment, error) {
	return inbox.Once(ctx, db, p.in, "order-17", options,
		func(ctx context.Context, tx pgx.Tx) (payment, error) {
			run := p.runs.Add(1)
			if err := effect(ctx, tx, p.operation); err != nil {
				return payment{}, err
			}
			if then != nil {
				if err := then(tx); err != nil {
					return payment{}, err
				}
			}
			return payment{"order-17", int(run)}, nil
		})
}

// paysOnce pays through a pool whose proxy loses answers or COMMITs, and again on the direct way:
// there is one effect, and the second call gets its value.
func (p *payer) paysOnce(t *testing.T, pool, direct *pgxpool.Pool, cut *proxy) {
	t.Helper()
	got, err := p.pay(pool, quickly(5), nil)
	require(t, err)
	equal(t, "value", got, payment{"order-17", int(p.runs.Load())})
	equal(t, "effects", effects(t, direct, p.operation), 1)
	equal(t, "all was lost", cut.loseAnswers.Load()+cut.loseCommits.Load(), 0)
	again, err := p.pay(direct, inbox.OnceOptions{}, nil)
	require(t, err)
	equal(t, "stored value", again, got)
}

func quickly(tries int) inbox.OnceOptions {
	return inbox.OnceOptions{Retry: inbox.Retry{Tries: tries, Pause: time.Millisecond}}
}

func TestOnceRunsOnceAndReturnsTheStoredValue(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	for range 3 {
		got, err := p.pay(pool, inbox.OnceOptions{}, nil)
		require(t, err)
		equal(t, "value", got, payment{"order-17", 1})
	}
	equal(t, "runs", p.runs.Load(), 1)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}

func TestOnceWithAnotherFingerprintIsAConflict(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	_, err := p.pay(pool, inbox.OnceOptions{Fingerprint: inbox.FingerprintOf("1")}, nil)
	require(t, err)
	_, err = p.pay(pool, inbox.OnceOptions{Fingerprint: inbox.FingerprintOf("2")}, nil)
	isError(t, err, inbox.ErrConflict)
	equal(t, "runs", p.runs.Load(), 1)
}

func TestAnErrorRollsBackAndLeavesTheKeyFree(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	broken := errors.New("broken")
	_, err := p.pay(pool, inbox.OnceOptions{}, func(pgx.Tx) error { return broken })
	isError(t, err, broken)
	equal(t, "effects", effects(t, pool, p.operation), 0)
	_, err = p.pay(pool, inbox.OnceOptions{}, nil)
	require(t, err)
	equal(t, "runs", p.runs.Load(), 2)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}

func TestAPanicRollsBackAndLeavesTheKeyFree(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	func() {
		defer func() { equal[any](t, "panic", recover(), "lost") }()
		_, _ = p.pay(pool, inbox.OnceOptions{}, func(pgx.Tx) error { panic("lost") })
	}()
	_, err := p.pay(pool, inbox.OnceOptions{}, nil)
	require(t, err)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}

func TestFailedIsStoredWithoutTheEffects(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	why := &inbox.Failed{Status: 402, Body: []byte("no funds")}
	_, err := p.pay(pool, inbox.OnceOptions{}, func(pgx.Tx) error {
		return errors.Join(errors.New("pay"), why)
	})
	isError(t, err, why)
	equal(t, "effects", effects(t, pool, p.operation), 0)
	_, err = p.pay(pool, inbox.OnceOptions{}, nil)
	var again *inbox.Failed
	equal(t, "failed", errors.As(err, &again), true)
	equal(t, "status", again.Status, 402)
	equal(t, "body", string(again.Body), "no funds")
	equal(t, "replayed", again.Replayed, true)
	equal(t, "runs", p.runs.Load(), 1)
}

func TestACommitWithoutAnAnswerIsOneEffect(t *testing.T) {
	both := func(p *proxy) {
		p.loseCommits.Store(1)
		p.loseAnswers.Store(1)
	}
	for name, lose := range map[string]func(*proxy){
		"the answer is lost":         func(p *proxy) { p.loseAnswers.Store(1) },
		"the COMMIT is lost":         func(p *proxy) { p.loseCommits.Store(1) },
		"one after the other":        both,
		"the answer is lost 4 times": func(p *proxy) { p.loseAnswers.Store(4) },
	} {
		t.Run(name, func(t *testing.T) {
			direct, cut, p := openPool(t), newProxy(t), newPayer(t)
			pool := cut.pool(t)
			lose(cut)
			p.paysOnce(t, pool, direct, cut)
		})
	}
}

func TestAFailureWhoseCommitHasNoAnswerIsStoredOnce(t *testing.T) {
	direct, cut, p := openPool(t), newProxy(t), newPayer(t)
	cut.loseAnswers.Store(1)
	why := &inbox.Failed{Status: 402}
	_, err := p.pay(cut.pool(t), inbox.OnceOptions{}, func(pgx.Tx) error { return why })
	isError(t, err, why)
	equal(t, "runs", p.runs.Load(), 1)
	_, err = p.pay(direct, inbox.OnceOptions{}, nil)
	var again *inbox.Failed
	equal(t, "failed", errors.As(err, &again), true)
}

func TestTheTriesAreBounded(t *testing.T) {
	cut, p := newProxy(t), newPayer(t)
	cut.loseCommits.Store(100)
	_, err := p.pay(cut.pool(t), quickly(3), nil)
	equal(t, "retryable", inbox.IsRetryable(err), true)
	equal(t, "runs", p.runs.Load(), 3)
}

func TestAKilledBackendIsTriedAgain(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	_, err := p.pay(pool, inbox.OnceOptions{}, func(tx pgx.Tx) error {
		if p.runs.Load() > 1 {
			return nil
		}
		_, err := tx.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		return err
	})
	require(t, err)
	equal(t, "runs", p.runs.Load(), 2)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}

func TestASerializationFailureIsTriedAgain(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	_, err := p.pay(pool, inbox.OnceOptions{}, func(tx pgx.Tx) error {
		if p.runs.Load() > 2 {
			return nil
		}
		_, err := tx.Exec(ctx, "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")
		return err
	})
	require(t, err)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}

func TestALostConnectionToAnotherSystemIsNotTriedAgain(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	lost := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	equal(t, "retryable", inbox.IsRetryable(lost), true)
	_, err := p.pay(pool, inbox.OnceOptions{}, func(pgx.Tx) error { return lost })
	isError(t, err, lost)
	equal(t, "runs", p.runs.Load(), 1)
}

func TestTwoAtOnceAreOneEffect(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			got, err := p.pay(pool, inbox.OnceOptions{}, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT pg_sleep(0.1)")
				return err
			})
			if err != nil || got.Amount != 1 {
				t.Errorf("got %v and the error %v", got, err)
			}
		})
	}
	both.Wait()
	equal(t, "runs", p.runs.Load(), 1)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}

func TestAFunctionThatCommitsByItselfIsRefused(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	_, err := p.pay(pool, inbox.OnceOptions{}, func(tx pgx.Tx) error { return tx.Commit(ctx) })
	equal(t, "error", err != nil, true)
	equal(t, "effects", effects(t, pool, p.operation), 0)
}

func TestOnceIsReadCommittedWhateverTheDefaultIs(t *testing.T) {
	p := newPayer(t)
	pool := openPool(t, func(config *pgxpool.Config) {
		config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	})
	_, err := p.pay(pool, inbox.OnceOptions{}, nil)
	require(t, err)
}

func TestAnExpiredContextIsNotTriedAgain(t *testing.T) {
	pool, p := openPool(t), newPayer(t)
	within, cancel := context.WithCancel(ctx)
	_, err := inbox.Once(within, pool, p.in, "order-17", inbox.OnceOptions{},
		func(ctx context.Context, tx pgx.Tx) (int, error) {
			p.runs.Add(1)
			cancel()
			return 1, effect(ctx, tx, p.operation)
		})
	isError(t, err, context.Canceled)
	equal(t, "runs", p.runs.Load(), 1)
	_, err = p.pay(pool, inbox.OnceOptions{}, nil)
	require(t, err)
	equal(t, "effects", effects(t, pool, p.operation), 1)
}
