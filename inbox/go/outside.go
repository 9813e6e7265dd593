package inbox

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const defaultHold = 60 * time.Second

// OutsideOptions are what a call of OnceOutside may come with.
type OutsideOptions struct {
	Fingerprint UUID          // of the arguments: another one under the same key is ErrConflict
	MintedAt    time.Time     // when the key was made; zero: not known
	Hold        time.Duration // of the lease, which is extended while the function runs; 60 s if 0
	IgnoresKey  bool          // the other system does not honour the downstream key
	Wait        time.Duration // for another caller that holds the key; 0: not at all
	Retry       Retry         // of the transactions, never of the function
}

// OnceOutside makes a call to another system once for each key. A lease is committed first, then
// the function runs with the downstream key and without a transaction, and its value is stored as
// JSON. A later call with the key returns the stored value.
//
// A *Failed is stored, and later calls return it. Any other error leaves the lease, because the
// effect may have happened: after it runs out, the next call makes the effect again under the same
// downstream key, or returns ErrOutcomeUnknown with IgnoresKey. If another caller holds the key,
// the error is an *InFlightError.
func OnceOutside[T any](ctx context.Context, db Beginner, in *Inbox, key string,
	options OutsideOptions, work func(ctx context.Context, downstreamKey UUID) (T, error)) (T,
	error) {
	var none T
	options.Hold = cmp.Or(options.Hold, defaultHold)
	lease, err := takeLease(ctx, db, in, key, options)
	if err != nil {
		return none, err
	}
	if lease.Outcome == InFlight {
		return none, &InFlightError{lease.Remaining}
	}
	if !lease.Fresh() {
		return replayed[T](lease.Outcome, lease.Status, lease.Body)
	}
	stop := in.extendMeanwhile(ctx, db, lease, options.Hold)
	defer stop() // also if work panics
	value, err := work(ctx, lease.DownstreamKey)
	stop()
	var result Result
	var failed *Failed
	if errors.As(err, &failed) {
		result = Result{Status: failed.Status, Body: failed.Body, Failed: true}
	} else if err != nil {
		return none, err
	} else if result, err = resultOf(value); err != nil {
		return none, err
	}
	if endErr := endLease(ctx, db, in, lease, result, options); endErr != nil {
		return none, endErr
	}
	return value, err
}

// takeLease takes a lease in a transaction of its own and waits for another holder, if asked to.
func takeLease(ctx context.Context, db Beginner, in *Inbox, key string, options OutsideOptions) (
	Lease, error) {
	// DANGER: one attempt for all tries. After a COMMIT without an answer it gets its own lease
	// again; another attempt would find the key in flight.
	wanted := LeaseOptions{Fingerprint: options.Fingerprint, MintedAt: options.MintedAt,
		Attempt: newUUID(), Hold: options.Hold, IgnoresKey: options.IgnoresKey}
	deadline := time.Now().Add(options.Wait)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		lease, err := committed(ctx, db, options.Retry, func(tx pgx.Tx) (Lease, error) {
			return in.Lease(ctx, tx, key, wanted)
		})
		left := time.Until(deadline)
		if err != nil || lease.Outcome != InFlight || left <= 0 {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return lease, ctx.Err()
		case <-time.After(min(pause, left)):
		}
	}
}

// extendMeanwhile extends the lease every half of its hold until stop is called.
func (in *Inbox) extendMeanwhile(ctx context.Context, db Beginner, lease Lease,
	hold time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	ctx = context.WithoutCancel(ctx) // the call may outlive its context
	go func() {
		defer close(ended)
		for pause := hold / 2; ; {
			select {
			case <-done:
				return
			case <-time.After(max(pause, 50*time.Millisecond)):
			}
			within, cancel := context.WithTimeout(ctx, hold)
			extended, err := committed(within, db, Retry{Tries: 1}, func(tx pgx.Tx) (bool, error) {
				return in.ExtendLease(within, tx, lease, hold)
			})
			cancel()
			pause = hold / 2
			if err != nil {
				pause = hold / 10 // try again while the lease is still ours
			} else if !extended {
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// endLease stores the end of a call that was made, even if the caller's context has ended.
func endLease(ctx context.Context, db Beginner, in *Inbox, lease Lease, result Result,
	options OutsideOptions) error {
	within := max(options.Hold, 10*time.Second)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	ours, err := committed(ctx, db, options.Retry, func(tx pgx.Tx) (bool, error) {
		return in.EndLease(ctx, tx, lease, result)
	})
	if err == nil && !ours {
		return ErrLeaseLost
	}
	return err
}
