// Package inbox claims idempotency keys in PostgreSQL, in the same transaction as their effect. It
// is a thin layer over the SQL functions of Onceward's schema, for pgx.
//
// [Once] runs a function once for each key, with its effect in the database. [OnceOutside] does the
// same for a call to another system. [Handler] is the middleware for net/http. The methods of
// [Inbox] are the SQL functions themselves; they run in the caller's transaction and never end it.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Version is the version of the SQL functions that this package was written for.
const Version = 1

// Options describe an inbox. Only Operation is required.
type Options struct {
	Operation string // what is done with a key, such as "pay"; keys of two operations never meet
	Kind      string // where keys come from; "id" if empty
	Tenant    string // whose keys they are; empty if keys have no tenant
	Ledger    string // "inbox" if empty, and "inbox_leases" for leases
	Schema    string // "onceward" if empty
}

// Inbox is an immutable description of keys. It holds no connection. Any number of goroutines may
// use it.
type Inbox struct {
	options Options
	schema  string       // quoted
	checked *atomic.Bool // whether the version of the functions was compared
}

// New describes an inbox. It sends nothing: the first call in a transaction checks the version.
func New(options Options) *Inbox {
	if options.Kind == "" {
		options.Kind = "id"
	}
	if options.Schema == "" {
		options.Schema = "onceward"
	}
	return &Inbox{options, pgx.Identifier{options.Schema}.Sanitize(), &atomic.Bool{}}
}

// ForTenant describes the same inbox for the keys of another tenant.
func (in *Inbox) ForTenant(tenant string) *Inbox {
	other := *in
	other.options.Tenant = tenant
	return &other
}

// Describe returns what the inbox was made of.
func (in *Inbox) Describe() Options { return in.options }

func (in *Inbox) ledger(unnamed string) string {
	if in.options.Ledger == "" {
		return unnamed
	}
	return in.options.Ledger
}

// ready compares the version once, in the caller's transaction.
func (in *Inbox) ready(ctx context.Context, tx pgx.Tx) error {
	if tx == nil {
		return argument("a transaction is needed, not nil")
	}
	if in.checked.Load() {
		return nil
	}
	var found int
	err := tx.QueryRow(ctx, in.sql("SELECT {schema}.inbox_version()")).Scan(&found)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == "42883" || refused.Code == "3F000") {
		return &VersionError{Schema: in.options.Schema, Wanted: Version, cause: err}
	}
	if err != nil {
		return translated(err)
	}
	if found != Version {
		return &VersionError{Schema: in.options.Schema, Found: found, Wanted: Version}
	}
	in.checked.Store(true)
	return nil
}

func (in *Inbox) sql(text string) string { return strings.ReplaceAll(text, "{schema}", in.schema) }

// queryRow calls a function of the schema that answers with one row.
func (in *Inbox) queryRow(ctx context.Context, tx pgx.Tx, to []any, sql string, args ...any) error {
	if err := in.ready(ctx, tx); err != nil {
		return err
	}
	return translated(tx.QueryRow(ctx, in.sql(sql), args...).Scan(to...))
}

// Outcome says what became of a key.
type Outcome string

// The outcomes of claims and leases.
const (
	Fresh     Outcome = "fresh"     // the key is yours
	Duplicate Outcome = "duplicate" // it took effect before
	Failure   Outcome = "failed"    // it failed for good before
	Conflict  Outcome = "conflict"  // it was used with another fingerprint
	Unknown   Outcome = "unknown"   // it may have taken effect, and no result of it is kept
	Expired   Outcome = "expired"   // it was minted before the ledger's memory begins
	InFlight  Outcome = "in_flight" // another caller holds the lease
)

// Header is a header of a result.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Result is what a key's first call ended with. Later calls with the key get it again.
type Result struct {
	Status  int
	Headers []Header
	Body    []byte
	Failed  bool // it failed for good
}

// arguments returns the result as the functions take it.
func (r Result) arguments() (status int, headers string, body []byte, err error) {
	if int(int32(r.Status)) != r.Status {
		return 0, "", nil, argument("the status is not a 32-bit number")
	}
	headers = "[]"
	if len(r.Headers) > 0 {
		made, err := json.Marshal(r.Headers)
		if err != nil {
			return 0, "", nil, err
		}
		headers = string(made)
	}
	// A nil slice would be NULL, which is no body.
	return r.Status, headers, append([]byte{}, r.Body...), nil
}

// stored receives the columns of a stored result, which are NULL if there is none.
type stored struct {
	status  *int32
	headers *string
	body    []byte
	at      *time.Time
}

func (s *stored) columns() []any { return []any{&s.status, &s.headers, &s.body, &s.at} }

func (s *stored) read(status *int, headers *[]Header, body *[]byte, at *time.Time) error {
	if s.status != nil {
		*status = int(*s.status)
	}
	if s.at != nil {
		*at = *s.at
	}
	*body = s.body
	if s.headers == nil {
		return nil
	}
	return json.Unmarshal([]byte(*s.headers), headers)
}

// orNull returns NULL for a UUID or a time that was not given.
func orNull[T interface{ IsZero() bool }](value T) *T {
	if value.IsZero() {
		return nil
	}
	return &value
}
