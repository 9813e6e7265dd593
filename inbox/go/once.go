package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Beginner lends transactions: a *pgxpool.Pool. A *pgx.Conn is one too, but it cannot connect again
// after its connection was lost.
type Beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Retry bounds how often a call is begun, if PostgreSQL asks for another try or the connection is
// lost.
type Retry struct {
	Tries int           // in all; 5 if 0
	Pause time.Duration // before the second try, with jitter; doubled up to 2 s; 50 ms if 0
}

// OnceOptions are what a call of Once may come with.
type OnceOptions struct {
	Fingerprint UUID      // of the call's arguments: another one under the same key is ErrConflict
	MintedAt    time.Time // when the key was made; zero: not known
	Retry       Retry
}

// Once runs work once for each key. Claim, what work does in its transaction, and its value as JSON
// are committed together; a later call with the key returns the stored value and does not run work.
//
// Work may run several times, in transactions of which one commits at most, so it must do nothing
// outside of its transaction. Its error rolls everything back and is returned. If the error is or
// wraps a *Failed, that is stored as the key's result, and later calls return it. If ctx ends
// during COMMIT, call Once again with the key: it says what became of it.
func Once[T any](ctx context.Context, db Beginner, in *Inbox, key string, options OnceOptions,
	work func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var value, none T
	c := call{db: db, in: in, key: key, retry: options.Retry,
		options: ClaimOptions{Fingerprint: options.Fingerprint, MintedAt: options.MintedAt}}
	claim, err := c.run(ctx, func(ctx context.Context, tx pgx.Tx) (Result, error) {
		var err error
		if value, err = work(ctx, tx); err != nil {
			return Result{}, judged(err, tx)
		}
		return resultOf(value)
	})
	if err != nil {
		return none, err
	}
	if claim.Fresh() {
		return value, nil
	}
	return replayed[T](claim.Outcome, claim.Status, claim.Body)
}

// resultOf makes a value the result of its key.
func resultOf(value any) (Result, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Result{}, fmt.Errorf("inbox: the value cannot be stored as JSON: %w", err)
	}
	return Result{Body: body}, nil
}

// replayed makes of a key's stored result what its first call returned.
func replayed[T any](outcome Outcome, status int, body []byte) (value T, err error) {
	switch outcome {
	case Duplicate:
		if body == nil {
			return value, ErrOutcomeUnknown
		}
		if len(body) == 0 { // another program stored nothing but a status
			return value, nil
		}
		if err = json.Unmarshal(body, &value); err != nil {
			err = fmt.Errorf("inbox: the key's stored result is not a %T: %w", value, err)
		}
		return value, err
	case Failure:
		return value, &Failed{Status: status, Body: body, Replayed: true}
	case Conflict:
		return value, ErrConflict
	case Expired:
		return value, ErrExpired
	default:
		return value, ErrOutcomeUnknown
	}
}

// keep is the error of work whose effects are rolled back and whose result is stored all the same.
type keep struct {
	result Result
	err    error // what the call returns then
}

func (k *keep) Error() string { return "rolled back, with a result that is kept" }

// final is an error that ends the tries, whatever it looks like.
type final struct{ error }

// judged decides what becomes of an error of the caller's function. Only an error of the database
// is a reason for another try: a lost connection to some other system is not.
func judged(err error, tx pgx.Tx) error {
	var failed *Failed
	if errors.As(err, &failed) {
		return &keep{Result{Status: failed.Status, Body: failed.Body, Failed: true}, err}
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) || tx.Conn().IsClosed() {
		return err
	}
	return final{err}
}

// call is one request with a key, over all of its tries.
type call struct {
	db      Beginner
	in      *Inbox
	key     string
	options ClaimOptions
	retry   Retry
	noWait  bool // a key that is busy is answered at once
}

// run claims the key, runs work if it is fresh, and stores its result, all in one transaction.
func (c call) run(ctx context.Context, work func(context.Context, pgx.Tx) (Result, error)) (Claim,
	error) {
	// DANGER: one attempt for all tries. After a COMMIT without an answer it distinguishes our own
	// result from another call's.
	c.options.Attempt = newUUID()
	var claim Claim
	var kept *keep
	once := func() error {
		return inTransaction(ctx, c.db, func(tx pgx.Tx) error {
			var err error
			claim, err = c.in.Claim(ctx, tx, c.key, c.options)
			if c.noWait && errors.Is(err, ErrBusy) {
				return final{err}
			}
			if err != nil || !claim.Fresh() {
				return err
			}
			var result Result
			if kept != nil {
				result = kept.result
			} else if result, err = work(ctx, tx); err != nil {
				return err
			}
			return c.in.Finish(ctx, tx, claim, result)
		})
	}
	err := c.retry.repeat(ctx, func() error {
		err := once()
		// Its effects are gone with their claim. The key is claimed again, for the result alone.
		if errors.As(err, &kept) {
			err = once()
		}
		return err
	})
	if err == nil && kept != nil && (claim.Fresh() || claim.Mine) {
		return claim, kept.err
	}
	return claim, err
}

// repeat runs try until it succeeds, or its error is not worth another try.
func (r Retry) repeat(ctx context.Context, try func() error) error {
	tries := cmp.Or(r.Tries, 5)
	pause := cmp.Or(max(r.Pause, 0), 50*time.Millisecond)
	for n := 1; ; n++ {
		err := try()
		if end, ok := err.(final); ok {
			return end.error
		}
		if err == nil || n >= tries || !IsRetryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, 2*time.Second)
	}
}

// committed returns what work answers in a transaction that is committed, with retries.
func committed[T any](ctx context.Context, db Beginner, retry Retry,
	work func(tx pgx.Tx) (T, error)) (answer T, err error) {
	err = retry.repeat(ctx, func() error {
		return inTransaction(ctx, db, func(tx pgx.Tx) (err error) {
			answer, err = work(tx)
			return err
		})
	})
	return answer, err
}

// inTransaction runs work in a transaction and commits it. An error or a panic rolls it back.
func inTransaction(ctx context.Context, db Beginner, work func(tx pgx.Tx) error) error {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return Translated(err)
	}
	defer func() {
		// The caller may have left; the connection is still to be given back in order. After COMMIT
		// this does nothing.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if err := work(tx); err != nil {
		return err
	}
	return Translated(tx.Commit(ctx))
}
