package inbox

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claim is the answer for a key.
type Claim struct {
	Outcome Outcome
	Digest  UUID
	Attempt UUID
	Mine    bool // the stored result is of this attempt, whose COMMIT had no answer

	// The stored result. Body is nil if there is none, or if ClaimMany left it out.
	Status   int
	Headers  []Header
	Body     []byte
	StoredAt time.Time
}

// Fresh says whether the key is the caller's.
func (c Claim) Fresh() bool { return c.Outcome == Fresh }

// ClaimOptions are what a key may come with.
type ClaimOptions struct {
	Fingerprint UUID      // of what came with the key (see FingerprintOf); zero: none
	Attempt     UUID      // names this request over all of its tries; zero: a random one
	MintedAt    time.Time // when the key was made; zero: not known
}

// The columns of an answer, in the order of Claim's members. What is NULL there is zero here.
const claimColumns = `a.outcome, a.digest, a.attempt, a.mine, coalesce(a.status, 0), a.headers,
	a.body, coalesce(a.stored_at, '0001-01-01 00:00Z')`

// Claim claims a key in the caller's transaction, which must be READ COMMITTED. A Go string holds
// any bytes, so string(b) is a key of bytes. If the answer is fresh, the effect follows and then
// Finish, in the same transaction.
func (in *Inbox) Claim(ctx context.Context, tx pgx.Tx, key string, options ClaimOptions) (Claim,
	error) {
	return one(ctx, in, tx, pgx.RowToStructByPos[Claim], "SELECT "+claimColumns+`
		FROM {schema}.claim($1::text, $2::text, $3::text, $4::bytea, $5::uuid, $6::uuid, $7::text,
			$8::timestamptz) AS a`,
		in.options.Operation, in.options.Tenant, in.options.Kind, []byte(key),
		orNull(options.Fingerprint), orNull(options.Attempt), in.ledger("inbox"),
		orNull(options.MintedAt))
}

// Finish stores the result of a fresh claim of this transaction.
func (in *Inbox) Finish(ctx context.Context, tx pgx.Tx, claim Claim, result Result) error {
	_, err := in.store(ctx, tx, "finish", claim.Digest, claim.Attempt, result, in.ledger("inbox"))
	return err
}

// ManyOptions are what many keys may come with. The lists are empty, or as long as the keys; a zero
// in a list means that this key has none.
type ManyOptions struct {
	Fingerprints []UUID
	Attempt      UUID
	MintedAt     []time.Time
	MaxBytes     int64 // bodies beyond it, in all, are left out; 1 MiB if 0
}

// ClaimMany claims up to 10,000 keys in one round trip and answers in their order. Call it before
// the transaction takes row locks: it claims in the order of the digests.
func (in *Inbox) ClaimMany(ctx context.Context, tx pgx.Tx, keys []string, options ManyOptions) (
	[]Claim, error) {
	wanted := make([][]byte, len(keys))
	for i, key := range keys {
		wanted[i] = []byte(key)
	}
	fingerprints := each(options.Fingerprints, UUID.String)
	mintedAt := each(options.MintedAt, func(one time.Time) time.Time { return one })
	return many(ctx, in, tx, pgx.RowToStructByPos[Claim], "SELECT "+claimColumns+`
		FROM (SELECT m.place, (m.answer).* FROM {schema}.claim_many($1::text, $2::text, $3::text,
			$4::bytea[], $5::text[]::uuid[], $6::uuid, $7::text, $8::timestamptz[], $9::bigint)
			AS m) AS a ORDER BY a.place`,
		in.options.Operation, in.options.Tenant, in.options.Kind, wanted, fingerprints,
		orNull(options.Attempt), in.ledger("inbox"), mintedAt, cmp.Or(options.MaxBytes, 1<<20))
}

// FinishMany stores one result, without headers and body, for the fresh ones of the claims that one
// call of ClaimMany answered with.
func (in *Inbox) FinishMany(ctx context.Context, tx pgx.Tx, claims []Claim, status int) error {
	if err := checkStatus(status); err != nil {
		return err
	}
	var digests []string
	var attempt UUID
	for _, claim := range claims {
		if !claim.Fresh() {
			continue
		}
		if len(digests) > 0 && claim.Attempt != attempt {
			return argument("the claims are of several attempts; finish each by itself")
		}
		attempt = claim.Attempt
		digests = append(digests, claim.Digest.String())
	}
	if len(digests) == 0 {
		return nil
	}
	_, err := one(ctx, in, tx, pgx.RowTo[string], `SELECT {schema}.finish_many(
		$1::text[]::uuid[], $2::uuid, $3::integer, $4::text, $5::text)::text`, digests, attempt,
		status, in.options.Tenant, in.ledger("inbox"))
	return err
}
