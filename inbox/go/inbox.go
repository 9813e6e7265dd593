// Package inbox claims idempotency keys in PostgreSQL, in the same transaction as their effect. It
// is a thin layer over the SQL functions of Onceward's schema, for pgx.
//
// [Once] runs a function once for each key, with its effect in the database. [OnceOutside] does the
// same for a call to another system. [Handler] is the middleware for net/http. The methods of
// [Inbox] are the SQL functions themselves; they run in the caller's transaction and never end it.
package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"unicode/utf8"

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
	options.Kind = cmp.Or(options.Kind, "id")
	options.Schema = cmp.Or(options.Schema, "onceward")
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
	return cmp.Or(in.options.Ledger, unnamed)
}

// check refuses a missing operation, and texts that PostgreSQL cannot have. Nothing is sent then.
func (o Options) check() error {
	if o.Operation == "" {
		return argument("an inbox has an operation")
	}
	for _, text := range [...]string{o.Operation, o.Kind, o.Tenant, o.Ledger, o.Schema} {
		if strings.Contains(text, "\x00") || !utf8.ValidString(text) {
			return argument("a text of the inbox has a NUL or is not in UTF-8")
		}
	}
	return nil
}

// ready checks the inbox, and compares the version once, in the caller's transaction.
func (in *Inbox) ready(ctx context.Context, tx pgx.Tx) error {
	if err := in.options.check(); err != nil {
		return err
	}
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
		return Translated(err)
	}
	if found != Version {
		return &VersionError{Schema: in.options.Schema, Found: found, Wanted: Version}
	}
	in.checked.Store(true)
	return nil
}

func (in *Inbox) sql(text string) string { return strings.ReplaceAll(text, "{schema}", in.schema) }

// many calls a function of the schema and reads the rows of its answer.
func many[T any](ctx context.Context, in *Inbox, tx pgx.Tx, read pgx.RowToFunc[T], sql string,
	args ...any) ([]T, error) {
	if err := in.ready(ctx, tx); err != nil {
		return nil, err
	}
	rows, _ := tx.Query(ctx, in.sql(sql), args...) // its error is that of the rows
	answers, err := pgx.CollectRows(rows, read)
	return answers, Translated(err)
}

// one does the same for a function that answers with one row.
func one[T any](ctx context.Context, in *Inbox, tx pgx.Tx, read pgx.RowToFunc[T], sql string,
	args ...any) (answer T, err error) {
	answers, err := many(ctx, in, tx, read, sql, args...)
	if err == nil {
		answer = answers[0]
	}
	return answer, err
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

// store calls one of the functions that take a result, and returns what it answers.
func (in *Inbox) store(ctx context.Context, tx pgx.Tx, function string, digest, attempt UUID,
	result Result, ledger string) (bool, error) {
	if err := checkStatus(result.Status); err != nil {
		return false, err
	}
	// A nil slice would be NULL, which is no body and no list.
	body := append([]byte{}, result.Body...)
	headers, err := json.Marshal(append([]Header{}, result.Headers...))
	if err != nil {
		return false, err
	}
	answer, err := one(ctx, in, tx, pgx.RowTo[string], "SELECT {schema}."+function+`($1::uuid,
		$2::uuid, $3::integer, $4::text::jsonb, $5::bytea, $6::boolean, $7::text, $8::text)::text`,
		digest, attempt, result.Status, string(headers), body, result.Failed, in.options.Tenant,
		ledger)
	return answer == "true", err
}

func checkStatus(status int) error {
	if int(int32(status)) != status {
		return argument("the status is not a 32-bit number")
	}
	return nil
}

// orNull returns NULL for a UUID or a time that was not given.
func orNull[T interface{ IsZero() bool }](value T) *T {
	if value.IsZero() {
		return nil
	}
	return &value
}

// each returns a list in which zeros are NULL.
func each[T interface{ IsZero() bool }, S any](values []T, as func(T) S) (list []*S) {
	for _, value := range values {
		var made *S
		if !value.IsZero() {
			one := as(value)
			made = &one
		}
		list = append(list, made)
	}
	return list
}
