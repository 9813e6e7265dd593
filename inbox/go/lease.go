package inbox

import (
	"cmp"
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
	return one(ctx, in, tx, pgx.RowToStructByPos[Lease], `SELECT a.outcome, a.digest, a.attempt,
		a.downstream_key, coalesce(a.attempts, 0), coalesce(a.taken_over, false),
		coalesce(a.remaining, '0'), coalesce(a.status, 0), a.headers, a.body,
		coalesce(a.ended_at, '0001-01-01 00:00Z')
		FROM {schema}.lease($1::text, $2::text, $3::text, $4::bytea, $5::uuid, $6::uuid, $7::text,
			$8::bigint * interval '1 microsecond', $9::boolean, $10::timestamptz) AS a`,
		in.options.Operation, in.options.Tenant, in.options.Kind, []byte(key),
		orNull(options.Fingerprint), orNull(options.Attempt), in.ledger("inbox_leases"),
		cmp.Or(options.Hold, defaultHold).Microseconds(), !options.IgnoresKey,
		orNull(options.MintedAt))
}

// EndLease stores how the effect ended. It answers with false if another caller took over the
// lease. Called again after a COMMIT without an answer, it says true.
func (in *Inbox) EndLease(ctx context.Context, tx pgx.Tx, lease Lease, result Result) (bool,
	error) {
	return in.store(ctx, tx, "end_lease", lease.Digest, lease.Attempt, result,
		in.ledger("inbox_leases"))
}

// ExtendLease holds the lease for `hold` from now on. It answers with false if the lease is no
// longer this attempt's.
func (in *Inbox) ExtendLease(ctx context.Context, tx pgx.Tx, lease Lease, hold time.Duration) (bool,
	error) {
	return one(ctx, in, tx, pgx.RowTo[bool], `SELECT {schema}.extend_lease($1::uuid, $2::uuid,
		$3::bigint * interval '1 microsecond', $4::text)`, lease.Digest, lease.Attempt,
		hold.Microseconds(), in.ledger("inbox_leases"))
}

// ReleaseLease gives the lease back because the effect certainly did not happen: the next caller
// with the key may try at once. It answers with false if the lease is no longer this attempt's.
func (in *Inbox) ReleaseLease(ctx context.Context, tx pgx.Tx, lease Lease) (bool, error) {
	return one(ctx, in, tx, pgx.RowTo[bool], `SELECT {schema}.release_lease($1::uuid, $2::uuid,
		$3::text)`, lease.Digest, lease.Attempt, in.ledger("inbox_leases"))
}
