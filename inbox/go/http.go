package inbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// HandlerOptions configure the middleware. Only Inbox is required.
type HandlerOptions struct {
	Inbox   *Inbox
	Methods []string // that need a key; POST and PATCH if empty; others pass through untouched
	// Tenant returns whose key it is; a request for which that is empty gets 400. Without Tenant all
	// clients share their keys, and one client could get the answer to another's request.
	Tenant func(*http.Request) string
	// MintedAt returns when a key was minted, such as MintedAtOfUUID7. A request for whose key it
	// returns false gets 400: that key would be taken again after the retention.
	MintedAt  func(key string) (time.Time, bool)
	MaxBody   int64 // bytes of a request; 1 MiB if 0
	MaxAnswer int   // bytes of an answer's body; 64 KiB if 0
	Retry     Retry
	OnError   func(*http.Request, error) // what clients get as 500 or 503; slog if nil
}

// Handler makes a middleware that carries out a request with an Idempotency-Key once. The handler
// gets the transaction by [Tx]. Its answer is buffered, stored and committed before it is sent. A
// repeat gets the same answer with `Idempotent-Replayed: true`. Answers with 5xx, 408, 425 and 429
// roll back and leave the key free. The rules are those of Onceward's HTTP front door.
//
// An answer with 4xx is stored too: answer with 5xx if an error may pass by itself.
//
// The handler may run several times for one request, in transactions of which one commits at most.
// It cannot stream or hijack.
func Handler(db Beginner, options HandlerOptions) func(next http.Handler) http.Handler {
	if len(options.Methods) == 0 {
		options.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	options.MaxBody = cmp.Or(options.MaxBody, 1<<20)
	options.MaxAnswer = cmp.Or(options.MaxAnswer, 1<<16)
	if options.OnError == nil {
		options.OnError = func(r *http.Request, err error) {
			slog.ErrorContext(r.Context(), "idempotent request failed", "path", r.URL.Path,
				"err", err)
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(options.Methods, r.Method) {
				serve(db, options, next, w, r)
			} else {
				next.ServeHTTP(w, r)
			}
		})
	}
}

type txKey struct{}

// Tx returns the transaction of a request that came through [Handler], and nil for one that it
// passed through. Do not commit it.
func Tx(ctx context.Context) pgx.Tx {
	tx, _ := ctx.Value(txKey{}).(pgx.Tx)
	return tx
}

// errNotStored rolls back what a handler did whose answer is not kept.
var errNotStored = errors.New("inbox: an answer with this status is not stored")

func serve(db Beginner, options HandlerOptions, next http.Handler, w http.ResponseWriter,
	r *http.Request) {
	key, written, refusal := keyOf(r.Header)
	if refusal != nil {
		refusal.send(w)
		return
	}
	w.Header().Set(keyHeader, written)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, options.MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		problem{bodyTooLarge, "", 0}.send(w)
		return
	} else if err != nil {
		problem{malformedRequest, "The body did not arrive whole.", 0}.send(w)
		return
	}
	c := call{db: db, in: options.Inbox, key: key, retry: options.Retry, noWait: true,
		options: ClaimOptions{Fingerprint: requestFingerprint(r, body)}}
	if options.Tenant != nil {
		tenant := options.Tenant(r)
		if tenant == "" {
			// Such requests would share their keys.
			problem{tenantMissing, "This operation needs a tenant.", 0}.send(w)
			return
		}
		c.in = c.in.ForTenant(tenant)
	}
	// Before the claim, whose ErrArgument is the client's mistake.
	if err := c.in.options.check(); err != nil {
		options.OnError(r, err)
		problem{internal, "", 0}.send(w)
		return
	}
	if options.MintedAt != nil {
		var known bool
		if c.options.MintedAt, known = options.MintedAt(key); !known {
			problem{keyMalformed, "The key does not tell when it was minted.", 0}.send(w)
			return
		}
	}
	var answer *recorder
	claim, err := c.run(r.Context(), func(ctx context.Context, tx pgx.Tx) (Result, error) {
		answer = &recorder{most: options.MaxAnswer, header: http.Header{}}
		inner := r.WithContext(context.WithValue(ctx, txKey{}, tx))
		inner.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(answer, inner)
		return answer.result(tx)
	})
	switch {
	case err == nil && (claim.Fresh() || claim.Mine), errors.Is(err, errNotStored):
		answer.send(w)
	case err == nil:
		repeat(w, claim)
	case errors.Is(err, ErrBusy):
		problem{keyInFlight, "Ask again with the same key.", 1}.send(w)
	case errors.Is(err, ErrArgument) && answer == nil && !c.options.MintedAt.IsZero():
		// The handler has not run, so it is the claim that was refused and not the result.
		problem{keyMalformed, "The key carries a time in the future.", 0}.send(w)
	case IsRetryable(err) || r.Context().Err() != nil:
		options.OnError(r, err)
		problem{unavailable, "", 1}.send(w)
	default:
		options.OnError(r, err)
		problem{internal, "", 0}.send(w)
	}
}

// requestFingerprint is the one that Onceward's front door makes, so that a route and a middleware
// on one ledger agree: SHA-256 over each part after its length.
func requestFingerprint(r *http.Request, body []byte) UUID {
	target := r.RequestURI
	if target == "" {
		target = r.URL.RequestURI()
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte("onceward http fingerprint"), []byte(r.Method),
		[]byte(target), body} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return UUID(sum.Sum(nil)[:16])
}

// recorder is the ResponseWriter of the handler. It keeps the answer until COMMIT.
type recorder struct {
	most   int
	header http.Header // what the handler sets
	sent   http.Header // as it was at WriteHeader
	status int
	body   bytes.Buffer
	over   bool // the body is larger than the most
}

func (a *recorder) Header() http.Header { return a.header }

func (a *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("inbox: invalid status %d", status)) // as net/http does
	}
	if a.status == 0 && status >= 200 {
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *recorder) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK) // if the handler has not
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	if a.over = a.over || a.body.Len()+len(data) > a.most; a.over {
		return 0, ErrResultTooLarge
	}
	return a.body.Write(data)
}

// result decides whether the answer is stored.
func (a *recorder) result(tx pgx.Tx) (Result, error) {
	a.WriteHeader(http.StatusOK) // if the handler has not
	switch {
	case tx.Conn().IsClosed():
		return Result{}, fmt.Errorf("inbox: connection lost: %w", io.ErrUnexpectedEOF)
	case a.over:
		return Result{}, final{ErrResultTooLarge}
	case a.status >= 500 || a.status == 408 || a.status == 425 || a.status == 429:
		return Result{}, final{errNotStored}
	}
	if a.body.Len() > 0 && a.sent.Get("Content-Type") == "" {
		// What net/http would add when it sends. A repeat must have it too.
		a.sent.Set("Content-Type", http.DetectContentType(a.body.Bytes()))
	}
	stored := Result{Status: a.status, Headers: storedHeaders(a.sent), Body: a.body.Bytes()}
	if tx.Conn().PgConn().TxStatus() != 'E' {
		return stored, nil
	}
	// A statement failed and the transaction cannot commit. A refusal is the right answer to that,
	// and it is stored without what the handler did; a success would be a lie.
	if a.status < 400 {
		return Result{}, final{fmt.Errorf(
			"inbox: the handler answered with %d, but its transaction has failed", a.status)}
	}
	return Result{}, &keep{stored, nil}
}

func (a *recorder) send(w http.ResponseWriter) {
	for name, values := range a.sent {
		if name != keyHeader && name != "Idempotent-Replayed" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes())
}

// withoutAnswer has the outcomes of a key that no stored answer belongs to.
var withoutAnswer = map[Outcome]problem{
	Conflict: {keyReused, "The same key came with another request before. Use a new key for a " +
		"new request.", 0},
	Expired: {keyExpired, "", 0},
	Unknown: {outcomeUnknown, "", 0},
}

// repeat answers a request whose key is known.
func repeat(w http.ResponseWriter, claim Claim) {
	if known, ok := withoutAnswer[claim.Outcome]; ok {
		known.send(w)
		return
	} else if claim.Body == nil {
		problem{answerGone, "", 0}.send(w)
		return
	}
	// What an outer middleware has set already is replaced, as for a first answer.
	for _, header := range claim.Headers {
		w.Header().Del(header.Name)
	}
	for _, header := range claim.Headers {
		w.Header().Add(header.Name, header.Value)
	}
	w.Header().Set("Idempotent-Replayed", "true")
	// Another program may have stored a result that has no status.
	status := cmp.Or(claim.Status, http.StatusOK)
	if claim.Status == 0 && claim.Outcome == Failure {
		status = http.StatusUnprocessableEntity
	} else if claim.Status == 0 && len(claim.Body) == 0 {
		status = http.StatusNoContent
	}
	w.WriteHeader(status)
	_, _ = w.Write(claim.Body)
}
