package inbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

// shop is a server with the middleware. Its handler inserts a row, and `then` may answer.
type shop struct {
	t         *testing.T
	operation string
	url       string
	runs      atomic.Int32
	reports   atomic.Int32
	reported  atomic.Pointer[error]
}

func newShop(t *testing.T, db inbox.Beginner, options inbox.HandlerOptions,
	then func(w http.ResponseWriter, r *http.Request)) *shop {
	s := &shop{t: t, operation: newOperation(t)}
	if options.Inbox == nil {
		options.Inbox = inbox.New(inbox.Options{Operation: s.operation, Ledger: "go_calls"})
	}
	options.OnError = func(_ *http.Request, err error) {
		s.reports.Add(1)
		s.reported.Store(&err)
	}
	handler := inbox.Handler(db, options)(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			s.runs.Add(1)
			tx := inbox.Tx(r.Context())
			if tx != nil {
				if err := effect(r.Context(), tx, s.operation); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
					return
				}
			}
			if then != nil {
				then(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Location", "/orders/17")
			w.Header().Set("Set-Cookie", "session=secret")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(append([]byte("made of "), body...))
		}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "of an outer middleware")
		w.Header().Set("X-Outer", "kept")
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (s *shop) send(method, target, body string, keys ...string) reply {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+target, strings.NewReader(body))
	require(s.t, err)
	for _, key := range keys {
		request.Header.Add("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	require(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require(s.t, err)
	return reply{response.StatusCode, response.Header, string(text)}
}

func (s *shop) isProblem(got reply, status int, name string) {
	s.t.Helper()
	var problem struct {
		Type, Title, Detail string
		Status              int
	}
	require(s.t, json.Unmarshal([]byte(got.body), &problem))
	equal(s.t, "type", problem.Type, "/onceward/problems/"+name)
	equal(s.t, "status", got.status, status)
	equal(s.t, "its member", problem.Status, status)
	equal(s.t, "content type", got.header.Get("Content-Type"), "application/problem+json")
	equal(s.t, "caching", got.header.Get("Cache-Control"), "no-store")
	equal(s.t, "title", problem.Title != "", true)
}

func TestARepeatGetsTheStoredAnswer(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, nil)
	first := s.send("POST", "/orders", "a", `"k-1"`)
	equal(t, "status", first.status, 201)
	equal(t, "body", first.body, "made of a")
	equal(t, "cookie", first.header.Get("Set-Cookie"), "session=secret")
	equal(t, "key", first.header.Get("Idempotency-Key"), `"k-1"`)
	equal(t, "replayed", first.header.Get("Idempotent-Replayed"), "")
	again := s.send("POST", "/orders", "a", "k-1")
	equal(t, "status", again.status, 201)
	equal(t, "body", again.body, "made of a")
	for _, header := range []http.Header{first.header, again.header} {
		equal(t, "location", strings.Join(header.Values("Location"), "|"), "/orders/17")
		equal(t, "outer", strings.Join(header.Values("X-Outer"), "|"), "kept")
	}
	equal(t, "content type", again.header.Get("Content-Type"), first.header.Get("Content-Type"))
	equal(t, "cookie", again.header.Get("Set-Cookie"), "")
	equal(t, "replayed", again.header.Get("Idempotent-Replayed"), "true")
	equal(t, "key", again.header.Get("Idempotency-Key"), "k-1")
	equal(t, "runs", s.runs.Load(), 1)
	equal(t, "effects", effects(t, pool, s.operation), 1)
}

func TestWhatIsStored(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"Set-Cookie", "Keep-Alive", "X-Hop", "X-Kept", "Date"} {
			w.Header().Set(name, "v")
		}
		w.Header().Set("Connection", "close, X-Hop")
		_, _ = w.Write([]byte("<html>"))
		w.Header().Set("X-Late", "v")
		w.WriteHeader(500) // net/http ignores it after the body has begun
	})
	first := s.send("POST", "/", "a", "k")
	equal(t, "status", first.status, 200)
	in := inbox.New(inbox.Options{Operation: s.operation, Ledger: "go_calls"})
	inTx(t, pool, func(tx pgx.Tx) error {
		claim, err := in.Claim(ctx, tx, "k", inbox.ClaimOptions{})
		equal(t, "headers", fmt.Sprint(claim.Headers),
			"[{content-type text/html; charset=utf-8} {x-kept v}]")
		equal(t, "body", string(claim.Body), "<html>")
		return err
	})
}

func TestAnotherRequestUnderTheKeyIsRefused(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, nil)
	equal(t, "status", s.send("POST", "/orders", "a", "k").status, 201)
	s.isProblem(s.send("POST", "/orders", "b", "k"), 422, "key-reused")
	s.isProblem(s.send("POST", "/orders?x=1", "a", "k"), 422, "key-reused")
	s.isProblem(s.send("PATCH", "/orders", "a", "k"), 422, "key-reused")
	equal(t, "effects", effects(t, pool, s.operation), 1)
}

func TestKeysOfTheHeader(t *testing.T) {
	s := newShop(t, openPool(t), inbox.HandlerOptions{}, nil)
	s.isProblem(s.send("POST", "/", ""), 400, "key-missing")
	s.isProblem(s.send("POST", "/", "", "a", "b"), 400, "key-malformed")
	for _, wrong := range []string{"", `""`, "a,b", "a b", `"a`, `"a" b`, `"\a"`, `"a";`, `"a";B=1`,
		"ä", `a"b`, strings.Repeat("k", 256), `"` + strings.Repeat("k", 256) + `"`} {
		s.isProblem(s.send("POST", "/", "", wrong), 400, "key-malformed")
	}
	equal(t, "runs", s.runs.Load(), 0)
	for i, right := range []string{`"a b"`, `"a b";v=1`, `"a b" `,
		`"a b"; v="x"; w;z=?1;y=:YQ==:`} {
		got := s.send("POST", "/", "", right)
		equal(t, right, got.status, 201)
		equal(t, "replayed", got.header.Get("Idempotent-Replayed") == "true", i > 0)
	}
	for i, right := range []string{`"\"\\"`, strings.Repeat("k", 255), "k;v=1"} {
		equal(t, right, s.send("POST", "/", "", right).header.Get("Idempotent-Replayed"), "")
		equal(t, "runs", int(s.runs.Load()), i+2)
	}
}

func TestOtherMethodsPassThrough(t *testing.T) {
	s := newShop(t, openPool(t), inbox.HandlerOptions{}, func(w http.ResponseWriter,
		r *http.Request) {
		if inbox.Tx(r.Context()) != nil {
			t.Error("a transaction for GET")
		}
		_, _ = w.Write([]byte("plain"))
	})
	for range 2 {
		got := s.send("GET", "/", "", "a", "b")
		equal(t, "body", got.body, "plain")
		equal(t, "replayed", got.header.Get("Idempotent-Replayed"), "")
	}
	equal(t, "runs", s.runs.Load(), 2)
}

func TestWhichAnswersAreStored(t *testing.T) {
	pool := openPool(t)
	for status, stored := range map[int]bool{200: true, 204: true, 303: true, 402: true, 404: true,
		408: false, 425: false, 429: false, 500: false, 503: false} {
		s := newShop(t, pool, inbox.HandlerOptions{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		})
		http.DefaultClient.CheckRedirect = func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}
		first, again := s.send("POST", "/", "", "k"), s.send("POST", "/", "", "k")
		equal(t, "status", first.status, status)
		equal(t, "status again", again.status, status)
		equal(t, "replayed", again.header.Get("Idempotent-Replayed") == "true", stored)
		want := 0
		if stored {
			want = 1
		}
		equal(t, "effects", effects(t, pool, s.operation), want)
	}
}

func TestARefusalAfterAFailedStatementIsStoredWithoutEffects(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, func(w http.ResponseWriter, r *http.Request) {
		_, err := inbox.Tx(r.Context()).Exec(r.Context(), "SELECT 1 / 0")
		if err != nil {
			http.Error(w, "no such amount", http.StatusUnprocessableEntity)
		}
	})
	for i := range 2 {
		got := s.send("POST", "/", "", "k")
		equal(t, "status", got.status, 422)
		equal(t, "body", got.body, "no such amount\n")
		equal(t, "replayed", got.header.Get("Idempotent-Replayed") == "true", i == 1)
	}
	equal(t, "runs", s.runs.Load(), 1)
	equal(t, "effects", effects(t, pool, s.operation), 0)
}

func TestASuccessAfterAFailedStatementIsAnError(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = inbox.Tx(r.Context()).Exec(r.Context(), "SELECT 1 / 0")
	})
	s.isProblem(s.send("POST", "/", "", "k"), 500, "internal")
	contains(t, (*s.reported.Load()).Error(), "its transaction has failed")
}

func TestTooMuch(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{MaxBody: 10, MaxAnswer: 10},
		func(w http.ResponseWriter, r *http.Request) {
			_, err := w.Write(bytes.Repeat([]byte("b"), 11))
			if !errors.Is(err, inbox.ErrResultTooLarge) {
				t.Error("the answer was not refused")
			}
		})
	s.isProblem(s.send("POST", "/", strings.Repeat("b", 11), "k"), 413, "body-too-large")
	equal(t, "runs", s.runs.Load(), 0)
	s.isProblem(s.send("POST", "/", strings.Repeat("b", 10), "k"), 500, "internal")
	isError(t, *s.reported.Load(), inbox.ErrResultTooLarge)
	equal(t, "effects", effects(t, pool, s.operation), 0)
}

func TestAPanicOfTheHandlerRollsBack(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		panic(http.ErrAbortHandler)
	})
	_, err := http.Post(s.url, "", nil)
	require(t, err) // a 400: it has no key
	request, _ := http.NewRequest("POST", s.url, nil)
	request.Header.Set("Idempotency-Key", "k")
	_, err = http.DefaultClient.Do(request)
	equal(t, "the connection broke", err != nil, true)
	equal(t, "effects", effects(t, pool, s.operation), 0)
}

func TestTenantsHaveKeysOfTheirOwn(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{Tenant: func(r *http.Request) string {
		return r.URL.Query().Get("tenant")
	}}, nil)
	equal(t, "a", s.send("POST", "/?tenant=a", "", "k").status, 201)
	equal(t, "b", s.send("POST", "/?tenant=b", "", "k").status, 201)
	equal(t, "effects", effects(t, pool, s.operation), 2)
}

func TestARequestWithoutATenantIsRefused(t *testing.T) {
	// There is no database: it is not asked.
	s := newShop(t, nil, inbox.HandlerOptions{Tenant: func(r *http.Request) string {
		return r.URL.Query().Get("tenant")
	}}, nil)
	s.isProblem(s.send("POST", "/", "", "k"), 400, "tenant-missing")
	equal(t, "runs", s.runs.Load(), 0)
}

func TestARequestWhoseKeyIsInFlight(t *testing.T) {
	pool := openPool(t, func(config *pgxpool.Config) {
		config.ConnConfig.RuntimeParams["lock_timeout"] = "100ms"
	})
	db := &counted{Pool: pool}
	entered, leave := make(chan bool), make(chan bool)
	s := newShop(t, db, inbox.HandlerOptions{}, func(http.ResponseWriter, *http.Request) {
		entered <- true
		<-leave
	})
	let := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(let) // before the server closes, which waits for its handlers
	var first sync.WaitGroup
	first.Go(func() { s.send("POST", "/", "", "k") })
	<-entered
	got := s.send("POST", "/", "", "k")
	s.isProblem(got, 409, "key-in-flight")
	equal(t, "retry", got.header.Get("Retry-After"), "1")
	equal(t, "transactions", db.begins.Load(), 2) // it is not tried again
	let()
	first.Wait()
	equal(t, "replayed", s.send("POST", "/", "", "k").header.Get("Idempotent-Replayed"), "true")
	equal(t, "effects", effects(t, pool, s.operation), 1)
}

func TestTwoRequestsAtOnceAreOneEffect(t *testing.T) {
	pool := openPool(t)
	s := newShop(t, pool, inbox.HandlerOptions{}, nil)
	var both sync.WaitGroup
	for range 4 {
		both.Go(func() {
			if got := s.send("POST", "/", "a", "k"); got.body != "made of a" {
				t.Errorf("got %v", got)
			}
		})
	}
	both.Wait()
	equal(t, "effects", effects(t, pool, s.operation), 1)
}

func TestARequestWhoseCommitHasNoAnswerGetsItsOwnAnswer(t *testing.T) {
	direct, cut := openPool(t), newProxy(t)
	s := newShop(t, cut.pool(t), inbox.HandlerOptions{}, nil)
	cut.loseAnswers.Store(1)
	got := s.send("POST", "/", "a", "k")
	equal(t, "status", got.status, 201)
	equal(t, "replayed", got.header.Get("Idempotent-Replayed"), "")
	equal(t, "cookie", got.header.Get("Set-Cookie"), "session=secret")
	equal(t, "runs", s.runs.Load(), 1)
	equal(t, "effects", effects(t, direct, s.operation), 1)
}

func TestAKilledBackendRunsTheHandlerAgain(t *testing.T) {
	pool := openPool(t)
	var kills atomic.Int32
	s := newShop(t, pool, inbox.HandlerOptions{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if kills.Add(1) == 1 {
			_, _ = inbox.Tx(r.Context()).Exec(r.Context(),
				"SELECT pg_terminate_backend(pg_backend_pid())")
			w.WriteHeader(500)
		}
		_, _ = w.Write(body)
	})
	got := s.send("POST", "/", "body", "k")
	equal(t, "status", got.status, 200)
	equal(t, "body", got.body, "body")
	equal(t, "effects", effects(t, pool, s.operation), 1)
}

func TestAServerWithoutPostgreSQLIsUnavailable(t *testing.T) {
	cut := newProxy(t)
	s := newShop(t, cut.pool(t), inbox.HandlerOptions{}, nil)
	cut.loseCommits.Store(100)
	got := s.send("POST", "/", "", "k")
	s.isProblem(got, 503, "unavailable")
	equal(t, "retry", got.header.Get("Retry-After"), "1")
}

func TestAnUnknownLedgerIsAnInternalError(t *testing.T) {
	s := newShop(t, openPool(t), inbox.HandlerOptions{Inbox: inbox.New(inbox.Options{
		Operation: "go", Ledger: "go no such ledger"})}, nil)
	s.isProblem(s.send("POST", "/", "", "k"), 500, "internal")
	isError(t, *s.reported.Load(), inbox.ErrLedger)
}
