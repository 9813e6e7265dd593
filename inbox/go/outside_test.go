package inbox_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

// charger plays another system that is called.
type charger struct {
	in    *inbox.Inbox
	calls atomic.Int32
	keys  sync.Map // the downstream keys that it was called with
}

func newCharger(t *testing.T) *charger { return &charger{in: newInbox(t, "go_leases")} }

func (c *charger) charge(ctx context.Context, db inbox.Beginner, options inbox.OutsideOptions,
	then func() error) (string, error) {
	return inbox.OnceOutside(ctx, db, c.in, "order-17", options,
		func(_ context.Context, downstreamKey inbox.UUID) (string, error) {
			c.calls.Add(1)
			c.keys.Store(downstreamKey, true)
			if then != nil {
				if err := then(); err != nil {
					return "", err
				}
			}
			return "charged", nil
		})
}

func (c *charger) countKeys() (count int) {
	c.keys.Range(func(_, _ any) bool { count++; return true })
	return count
}

const ofTheKey = " WHERE digest = onceward.key_digest($1, '', 'id', 'order-17'::text)"

// runOut ends the time of the key's lease.
func (c *charger) runOut(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(ctx, "UPDATE onceward.leases SET lease_until = now()"+ofTheKey,
		c.in.Describe().Operation)
	require(t, err)
}

// until returns until when the key is leased.
func (c *charger) until(t *testing.T, pool *pgxpool.Pool) (until time.Time) {
	t.Helper()
	require(t, pool.QueryRow(ctx, "SELECT lease_until FROM onceward.leases"+ofTheKey,
		c.in.Describe().Operation).Scan(&until))
	return until
}

func TestOutsideCallsOnceAndReturnsTheStoredValue(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	for range 3 {
		got, err := c.charge(ctx, pool, inbox.OutsideOptions{}, nil)
		require(t, err)
		equal(t, "value", got, "charged")
	}
	equal(t, "calls", c.calls.Load(), 1)
}

func TestOutsideWithAnotherFingerprintIsAConflict(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	_, err := c.charge(ctx, pool, inbox.OutsideOptions{Fingerprint: inbox.FingerprintOf("1")}, nil)
	require(t, err)
	_, err = c.charge(ctx, pool, inbox.OutsideOptions{Fingerprint: inbox.FingerprintOf("2")}, nil)
	isError(t, err, inbox.ErrConflict)
}

func TestOutsideFailedIsStored(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	why := &inbox.Failed{Status: 402, Body: []byte("declined")}
	_, err := c.charge(ctx, pool, inbox.OutsideOptions{}, func() error { return why })
	isError(t, err, why)
	_, err = c.charge(ctx, pool, inbox.OutsideOptions{}, nil)
	var again *inbox.Failed
	equal(t, "failed", errors.As(err, &again), true)
	equal(t, "body", string(again.Body), "declined")
	equal(t, "calls", c.calls.Load(), 1)
}

func TestOutsideAFailureWithoutItsResultIsStillAFailure(t *testing.T) {
	pool := openPool(t)
	_, err := pool.Exec(ctx, "SELECT onceward.register_ledger('go_leases_bare', 'lease', "+
		"stores_results => false)")
	require(t, err)
	c := &charger{in: newInbox(t, "go_leases_bare")}
	why := &inbox.Failed{Status: 402, Body: []byte("declined")}
	_, err = c.charge(ctx, pool, inbox.OutsideOptions{}, func() error { return why })
	isError(t, err, why)
	_, err = c.charge(ctx, pool, inbox.OutsideOptions{}, nil)
	var again *inbox.Failed
	equal(t, "failed", errors.As(err, &again), true)
	equal(t, "status", again.Status, 402)
	equal(t, "bytes of the body", len(again.Body), 0)
	equal(t, "calls", c.calls.Load(), 1)
}

func TestOutsideAnErrorLeavesTheLease(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	broken := errors.New("broken")
	options := inbox.OutsideOptions{Hold: time.Minute}
	_, err := c.charge(ctx, pool, options, func() error { return broken })
	isError(t, err, broken)
	var inFlight *inbox.InFlightError
	_, err = c.charge(ctx, pool, options, nil)
	equal(t, "in flight", errors.As(err, &inFlight), true)
	equal(t, "it remains", inFlight.Remaining > 0 && inFlight.Remaining <= options.Hold, true)
	c.runOut(t, pool)
	got, err := c.charge(ctx, pool, options, nil)
	require(t, err)
	equal(t, "value", got, "charged")
	equal(t, "calls", c.calls.Load(), 2)
	equal(t, "downstream keys", c.countKeys(), 1)
}

func TestOutsideIsUnknownWhereTheOtherSideIgnoresKeys(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	options := inbox.OutsideOptions{Hold: 100 * time.Millisecond, IgnoresKey: true,
		Wait: 5 * time.Second}
	broken := errors.New("broken")
	_, err := c.charge(ctx, pool, options, func() error { return broken })
	isError(t, err, broken)
	_, err = c.charge(ctx, pool, options, nil)
	isError(t, err, inbox.ErrOutcomeUnknown)
	equal(t, "calls", c.calls.Load(), 1)
}

func TestALongCallKeepsItsLease(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	options := inbox.OutsideOptions{Hold: 2 * time.Second}
	var other error
	got, err := c.charge(ctx, pool, options, func() error {
		taken := c.until(t, pool)
		for n := 0; n < 1000 && !c.until(t, pool).After(taken); n++ {
			time.Sleep(10 * time.Millisecond)
		}
		_, other = c.charge(ctx, pool, options, nil)
		return nil
	})
	require(t, err)
	equal(t, "value", got, "charged")
	var inFlight *inbox.InFlightError
	equal(t, "in flight", errors.As(other, &inFlight), true)
	equal(t, "calls", c.calls.Load(), 1)
}

func TestTwoCallsAtOnceAreOne(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			got, err := c.charge(ctx, pool, inbox.OutsideOptions{Wait: 5 * time.Second},
				func() error { time.Sleep(100 * time.Millisecond); return nil })
			if err != nil || got != "charged" {
				t.Errorf("got %q and the error %v", got, err)
			}
		})
	}
	both.Wait()
	equal(t, "calls", c.calls.Load(), 1)
}

func TestOutsideACommitWithoutAnAnswerIsOneCall(t *testing.T) {
	for name, lose := range map[string]func(*proxy, int32){
		"the answer is lost": func(p *proxy, n int32) { p.loseAnswers.Store(n) },
		"the COMMIT is lost": func(p *proxy, n int32) { p.loseCommits.Store(n) },
	} {
		t.Run(name, func(t *testing.T) {
			direct, cut, c := openPool(t), newProxy(t), newCharger(t)
			pool := cut.pool(t)
			lose(cut, 1) // that of the lease
			got, err := c.charge(ctx, pool, inbox.OutsideOptions{}, func() error {
				lose(cut, 1) // that of its end
				return nil
			})
			require(t, err)
			equal(t, "value", got, "charged")
			equal(t, "commits", cut.commits.Load(), 4)
			_, err = c.charge(ctx, direct, inbox.OutsideOptions{}, nil)
			require(t, err)
			equal(t, "calls", c.calls.Load(), 1)
		})
	}
}

func TestACallThatWasMadeIsStoredAlthoughItsContextEnded(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	within, cancel := context.WithCancel(ctx)
	_, err := c.charge(within, pool, inbox.OutsideOptions{}, func() error { cancel(); return nil })
	require(t, err)
	_, err = c.charge(ctx, pool, inbox.OutsideOptions{}, nil)
	require(t, err)
	equal(t, "calls", c.calls.Load(), 1)
}

func TestALeaseThatAnotherCallerTookOverIsLost(t *testing.T) {
	pool, c := openPool(t), newCharger(t)
	_, err := c.charge(ctx, pool, inbox.OutsideOptions{Hold: time.Hour}, func() error {
		// As if this process had been frozen for an hour.
		c.runOut(t, pool)
		_, err := c.charge(ctx, pool, inbox.OutsideOptions{}, nil)
		return err
	})
	isError(t, err, inbox.ErrLeaseLost)
	equal(t, "calls", c.calls.Load(), 2)
	equal(t, "downstream keys", c.countKeys(), 1)
}
