package inbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Lease is the answer for a key whose effect is outside the database.
type Lease struct {
	Outcome       Outcome
	Digest        UUID
	Attempt       UUID
	DownstreamKey UUID          // for the other system: the same for each call of the effect
	Attempts      int           // how often the lease was taken
	TakenOver     bool          // another caller's lease ran out before this one was taken
	Remaining     time.Duration // how long it is held, if it is fresh or in flight

	// The stored result. Body is nil if there is none.
	Status  int
	Headers []Header
	Body    []byte
	EndedAt time.Time
}

// Fresh says whether the lease is the caller's.
func (l Lease) Fresh() bool { return l.Outcome == Fresh }

// LeaseOptions are what a lease may be taken with.
type LeaseOptions struct {
	Fingerprint UUID          // of what came with the key; zero: none
	Attempt     UUID          // names the holder: the same one gets its lease again; zero: random
	MintedAt    time.Time     // when the key was made; zero: not known
	Hold        time.Duration // for how long; 60 s if 0
	// IgnoresKey says that the other system does not honour the downstream key. A lease that ran
	// out without an end is then unknown for ever, and is not taken over.
	IgnoresKey bool
}

// Lease takes a lease of a key. Commit the transaction before the effect begins, call the other
// system with DownstreamKey, and call EndLease in another transaction.
func (in *Inbox) Lease(ctx context.Context, tx pgx.Tx, key string, options LeaseOptions) (Lease,
	error) {
	if options.Hold == 0 {
		options.Hold = defaultHold
	}
	var lease Lease
	var result stored
	var attempts *int
	var takenOver *bool
	var remaining *int64
	to := append([]any{&lease.Outcome, &lease.Digest, &lease.Attempt, &lease.DownstreamKey,
		&attempts, &takenOver, &remaining}, result.columns()...)
	err := in.queryRow(ctx, tx, to, `SELECT a.outcome, a.digest, a.attempt, a.downstream_key,
		a.attempts, a.taken_over, (extract(epoch FROM a.remaining) * 1000000)::bigint, a.status,
		a.headers::text, a.body, a.ended_at
		FROM {schema}.lease($1::text, $2::text, $3::text, $4::bytea, $5::uuid, $6::uuid, $7::text,
			$8::bigint * interval '1 microsecond', $9::boolean, $10::timestamptz) AS a`,
		in.options.Operation, in.options.Tenant, in.options.Kind, []byte(key),
		orNull(options.Fingerprint), orNull(options.Attempt), in.ledger("inbox_leases"),
		options.Hold.Microseconds(), !options.IgnoresKey, orNull(options.MintedAt))
	if err != nil {
		return Lease{}, err
	}
	if attempts != nil {
		lease.Attempts = *attempts
	}
	lease.TakenOver = takenOver != nil && *takenOver
	if remaining != nil {
		lease.Remaining = time.Duration(*remaining) * time.Microsecond
	}
	return lease, result.read(&lease.Status, &lease.Headers, &lease.Body, &lease.EndedAt)
}

// EndLease stores how the effect ended. It answers with false if another caller took over the
// lease. Called again after a COMMIT without an answer, it says true.
func (in *Inbox) EndLease(ctx context.Context, tx pgx.Tx, lease Lease, result Result) (bool,
	error) {
	status, headers, body, err := result.arguments()
	if err != nil {
		return false, err
	}
	return in.yes(ctx, tx, `SELECT {schema}.end_lease($1::uuid, $2::uuid, $3::integer,
		$4::text::jsonb, $5::bytea, $6::boolean, $7::text, $8::text)`, lease.Digest, lease.Attempt,
		status, headers, body, result.Failed, in.options.Tenant, in.ledger("inbox_leases"))
}

// ExtendLease holds the lease for `hold` from now on. It answers with false if the lease is no
// longer this attempt's.
func (in *Inbox) ExtendLease(ctx context.Context, tx pgx.Tx, lease Lease, hold time.Duration) (bool,
	error) {
	return in.yes(ctx, tx, `SELECT {schema}.extend_lease($1::uuid, $2::uuid,
		$3::bigint * interval '1 microsecond', $4::text)`, lease.Digest, lease.Attempt,
		hold.Microseconds(), in.ledger("inbox_leases"))
}

// ReleaseLease gives the lease back because the effect certainly did not happen: the next caller
// with the key may try at once. It answers with false if the lease is no longer this attempt's.
func (in *Inbox) ReleaseLease(ctx context.Context, tx pgx.Tx, lease Lease) (bool, error) {
	return in.yes(ctx, tx, `SELECT {schema}.release_lease($1::uuid, $2::uuid, $3::text)`,
		lease.Digest, lease.Attempt, in.ledger("inbox_leases"))
}

func (in *Inbox) yes(ctx context.Context, tx pgx.Tx, sql string, args ...any) (bool, error) {
	var answer bool
	err := in.queryRow(ctx, tx, []any{&answer}, sql, args...)
	return answer, err
}
