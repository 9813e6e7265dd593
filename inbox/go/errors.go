package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Error is what the SQL functions refuse. Compare it with the Err variables by errors.Is; the
// driver's *pgconn.PgError is found by errors.As. Other errors of the database pass unchanged.
type Error struct {
	Message string
	Hint    string
	state   string
	cause   error
}

// What the SQL functions refuse, one for each SQLSTATE.
var (
	ErrIsolation      = &Error{state: "OW001", Message: "the transaction is not READ COMMITTED"}
	ErrLedger         = &Error{state: "OW002", Message: "the ledger does not fit the function"}
	ErrNotAllowed     = &Error{state: "OW003", Message: "the role may not use the ledger"}
	ErrArgument       = &Error{state: "OW004", Message: "an argument is missing or not valid"}
	ErrUnfinished     = &Error{state: "OW005", Message: "COMMIT of a claim without a result"}
	ErrNotClaimed     = &Error{state: "OW006", Message: "this transaction has not claimed the key"}
	ErrResultTooLarge = &Error{state: "OW007", Message: "the result is too large"}
	ErrBusy           = &Error{state: "55P03", Message: "another transaction holds the key"}
)

var refusals = []*Error{ErrIsolation, ErrLedger, ErrNotAllowed, ErrArgument, ErrUnfinished,
	ErrNotClaimed, ErrResultTooLarge, ErrBusy}

func (e *Error) Error() string {
	text := fmt.Sprintf("inbox: %s (SQLSTATE %s)", e.Message, e.state)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// SQLState returns the SQLSTATE, which is the same in every language.
func (e *Error) SQLState() string { return e.state }

// Unwrap returns the driver's error, or nil if nothing was sent.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether the target is the Err variable of the same SQLSTATE.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && slices.Contains(refusals, other) && other.state == e.state
}

func argument(message string) error { return &Error{state: ErrArgument.state, Message: message} }

// Translated makes an Error of what the SQL functions refuse and passes all else unchanged. It is
// for a Commit of your own, whose error is the driver's: OW005 becomes [ErrUnfinished].
func Translated(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		for _, one := range refusals {
			if one.state == refused.Code {
				return &Error{refused.Message, refused.Hint, refused.Code, err}
			}
		}
	}
	return err
}

// VersionError says that the schema's functions are of another version than this package.
type VersionError struct {
	Schema string
	Found  int // 0 if the schema has no inbox
	Wanted int
	cause  error
}

func (e *VersionError) Error() string {
	advice := "the schema with `onceward migrate up`"
	if e.Found > e.Wanted {
		advice = "the package"
	}
	return fmt.Sprintf("inbox: schema %s has version %d of the inbox, this package needs %d: "+
		"upgrade %s", e.Schema, e.Found, e.Wanted, advice)
}

// Unwrap returns the driver's error if the schema has no inbox.
func (e *VersionError) Unwrap() error { return e.cause }

// What Once and OnceOutside answer a key with that is not theirs.
var (
	// ErrConflict: the key was used before with another fingerprint.
	ErrConflict = errors.New("inbox: the key was used before with another fingerprint")
	// ErrOutcomeUnknown: the effect happened, or may have, and must not be repeated.
	ErrOutcomeUnknown = errors.New("inbox: the key may have taken effect; no result of it is kept")
	// ErrExpired: the key was minted before the ledger's memory begins, so it cannot be judged.
	ErrExpired = errors.New("inbox: the key is older than the ledger's memory")
	// ErrLeaseLost: the call was made, but its lease ran out and another caller took it over before
	// the end was stored. Call again with the key for the answer of that one.
	ErrLeaseLost = errors.New("inbox: another caller took the lease over during the call")
)

// InFlightError says that another caller holds the key's lease.
type InFlightError struct{ Remaining time.Duration }

func (e *InFlightError) Error() string {
	return fmt.Sprintf("inbox: another caller holds the key for %v at most", e.Remaining)
}

// Failed is an error that a function returns if it will never succeed under this key. It is stored,
// and every later call with the key returns it again.
type Failed struct {
	Status   int
	Body     []byte
	Replayed bool // it was stored by an earlier call
}

func (e *Failed) Error() string {
	return fmt.Sprintf("inbox: failed for good with status %d: %s", e.Status, e.Body)
}

// IsRetryable says whether the transaction may be run again: PostgreSQL asks for it (40001, 40P01),
// another transaction held the key for too long (55P03), or the connection was lost.
func IsRetryable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "40001", "40P01", "55P03", "25P03", "57P01", "57P02", "57P03", "57P05":
			return true
		}
		return strings.HasPrefix(refused.Code, "08")
	}
	var network *net.OpError
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}
