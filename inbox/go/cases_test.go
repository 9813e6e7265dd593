package inbox_test

// The conformance suite: ../cases.json says what every package of the inbox does. The form of its
// cases is in cases_form_test.go.

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	inbox "github.com/onceward/onceward/inbox/go"
)

type answer struct {
	value any
	err   error
}

// player plays one case.
type player struct {
	t           *testing.T
	operation   string
	connections map[string]*pgx.Conn
	txs         map[string]pgx.Tx
	kept        map[string]any
	tasks       map[string]chan answer
}

func (p *player) connection(name string) *pgx.Conn {
	if p.connections[name] == nil {
		connection, err := pgx.Connect(ctx, dsn(p.t))
		require(p.t, err)
		p.connections[name] = connection
	}
	return p.connections[name]
}

func (p *player) inbox(s step) *inbox.Inbox {
	if s.Ledger == "" {
		s.Ledger = "cases"
		if strings.Contains(s.Do, "lease") {
			s.Ledger = "cases_leases"
		}
	}
	return inbox.New(inbox.Options{Operation: p.operation + s.Suffix, Tenant: s.Tenant,
		Ledger: s.Ledger})
}

func (p *player) result(s step) inbox.Result {
	return inbox.Result{Status: s.Status, Headers: s.Headers, Failed: s.Failed,
		Body: []byte(s.Body + strings.Repeat("b", s.BodyBytes))}
}

func (p *player) of(s step) any {
	var name string
	require(p.t, json.Unmarshal(s.Of, &name))
	found, ok := p.kept[name]
	if !ok {
		p.t.Fatalf("no answer is kept as %q", name)
	}
	return found
}

// call runs a function of the package.
func (p *player) call(s step) (any, error) {
	in, tx := p.inbox(s), p.txs[s.On]
	var fingerprint inbox.UUID
	if s.Fingerprint != nil {
		fingerprint = inbox.FingerprintOf(*s.Fingerprint)
	}
	var mintedAt time.Time
	hold := time.Duration(s.HoldMS) * time.Millisecond
	if s.MintedAt != nil && s.Do != "claim_many" {
		require(p.t, json.Unmarshal(s.MintedAt, &mintedAt))
	}
	switch s.Do {
	case "claim":
		return in.Claim(ctx, tx, string(s.Key), inbox.ClaimOptions{Fingerprint: fingerprint,
			Attempt: s.Attempt, MintedAt: mintedAt})
	case "finish":
		return nil, in.Finish(ctx, tx, p.of(s).(inbox.Claim), p.result(s))
	case "claim_many":
		options := inbox.ManyOptions{MaxBytes: s.MaxBytes}
		if s.MintedAt != nil {
			require(p.t, json.Unmarshal(s.MintedAt, &options.MintedAt))
		}
		for _, one := range s.Fingerprints {
			options.Fingerprints = append(options.Fingerprints, inbox.FingerprintOf(one))
		}
		var keys []string
		for _, key := range s.Keys {
			keys = append(keys, string(key))
		}
		return in.ClaimMany(ctx, tx, keys, options)
	case "finish_many":
		return nil, in.FinishMany(ctx, tx, p.of(s).([]inbox.Claim), s.Status)
	case "lease":
		return in.Lease(ctx, tx, string(s.Key), inbox.LeaseOptions{Fingerprint: fingerprint,
			Attempt: s.Attempt, Hold: hold, IgnoresKey: s.HonoursKey != nil && !*s.HonoursKey})
	case "end_lease":
		return in.EndLease(ctx, tx, p.of(s).(inbox.Lease), p.result(s))
	case "extend_lease":
		return in.ExtendLease(ctx, tx, p.of(s).(inbox.Lease), hold)
	case "release_lease":
		return in.ReleaseLease(ctx, tx, p.of(s).(inbox.Lease))
	}
	return nil, p.statement(s)
}

// statement runs what is the driver's own.
func (p *player) statement(s step) error {
	var err error
	switch s.Do {
	case "begin":
		level := pgx.TxIsoLevel(s.Isolation)
		p.txs[s.On], err = p.connection(s.On).BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	case "commit":
		err = p.txs[s.On].Commit(ctx)
	case "rollback":
		err = p.txs[s.On].Rollback(ctx)
	case "savepoint":
		_, err = p.connection(s.On).Exec(ctx, "SAVEPOINT "+s.Name)
	case "rollback_to":
		_, err = p.connection(s.On).Exec(ctx, "ROLLBACK TO "+s.Name)
	case "release":
		_, err = p.connection(s.On).Exec(ctx, "RELEASE "+s.Name)
	case "sql":
		_, err = p.connection(s.On).Exec(ctx, s.Text)
	case "effect":
		_, err = p.connection(s.On).Exec(ctx, "INSERT INTO go_inbox_effects VALUES ($1, $2)",
			p.operation, s.Value)
	case "break":
		err = p.connection(s.On).PgConn().Conn().Close()
		delete(p.connections, s.On)
	case "effects":
		var count int
		err = p.connection("effects").QueryRow(ctx, "SELECT count(*) FROM go_inbox_effects "+
			"WHERE operation = $1", p.operation).Scan(&count)
		equal(p.t, "effects", count, s.Count)
	case "same":
		var names []string
		require(p.t, json.Unmarshal(s.Of, &names))
		for _, name := range names[1:] {
			equal(p.t, s.Member, members(p.kept[name])[s.Member],
				members(p.kept[names[0]])[s.Member])
		}
	default:
		p.t.Fatalf("unknown step %q", s.Do)
	}
	return err
}

func (p *player) play(s step) {
	p.t.Helper()
	if s.Later != "" {
		task := make(chan answer, 1)
		p.tasks[s.Later] = task
		go func() {
			value, err := p.call(s)
			task <- answer{value, err}
		}()
		p.kept["as of "+s.Later] = s.As
		return
	}
	var got answer
	if s.Do == "join" {
		got = <-p.tasks[s.Task]
		s.As, _ = p.kept["as of "+s.Task].(string)
	} else {
		got.value, got.err = p.call(s)
	}
	if s.Error != "" {
		var state interface{ SQLState() string }
		if !errors.As(got.err, &state) || state.SQLState() != s.Error {
			p.t.Fatalf("got the error %v, want %s", got.err, s.Error)
		}
		// Refusals of the package's own functions are its own errors.
		var own *inbox.Error
		if strings.HasPrefix(s.Error, "OW") && s.Do != "commit" && !errors.As(got.err, &own) {
			p.t.Fatalf("%v is not the package's error", got.err)
		}
		return
	}
	require(p.t, got.err)
	if s.As != "" {
		p.kept[s.As] = got.value
	}
	p.compare(s, got.value)
}

// members returns an answer as the cases name its members.
func members(value any) map[string]any {
	made := map[string]any{}
	var body []byte
	var status int
	var headers []inbox.Header
	switch of := value.(type) {
	case inbox.Claim:
		made["outcome"], made["mine"] = string(of.Outcome), of.Mine
		status, headers, body = of.Status, of.Headers, of.Body
	case inbox.Lease:
		made["outcome"], made["attempts"] = string(of.Outcome), float64(of.Attempts)
		made["taken_over"], made["downstream_key"] = of.TakenOver, of.DownstreamKey.String()
		status, headers, body = of.Status, of.Headers, of.Body
	}
	made["status"], made["body"], made["headers"] = nil, nil, nil
	if body != nil { // status 0 is also what a claim without a result has
		text, _ := json.Marshal(headers)
		var list any
		_ = json.Unmarshal(text, &list)
		made["status"], made["body"], made["headers"] = float64(status), string(body), list
	}
	return made
}

func (p *player) compare(s step, value any) {
	p.t.Helper()
	if s.Expect == nil {
		return
	}
	var want any
	require(p.t, json.Unmarshal(s.Expect, &want))
	switch want := want.(type) {
	case bool:
		equal(p.t, s.Do, value.(bool), want)
	case []any:
		claims := value.([]inbox.Claim)
		equal(p.t, "answers", len(claims), len(want))
		for i, claim := range claims {
			equal[any](p.t, fmt.Sprintf("outcome %d", i+1), string(claim.Outcome), want[i])
			if s.BodyLengths == nil {
				continue
			}
			if length := s.BodyLengths[i]; length == nil {
				equal(p.t, "no body", claim.Body == nil, true)
			} else {
				equal(p.t, "bytes of the body", len(claim.Body), *length)
			}
		}
	case map[string]any:
		got := members(value)
		for name, one := range want {
			if have, ok := got[name]; !ok || !reflect.DeepEqual(have, one) {
				p.t.Fatalf("%s: got %v, want %v", name, have, one)
			}
		}
	}
}

func TestCases(t *testing.T) {
	pool := openPool(t)
	file := readCases(t)
	for _, l := range file.Ledgers {
		_, err := pool.Exec(ctx, "SELECT onceward.register_ledger($1, $2, $3::text::interval, "+
			"$4::text::interval, $5, $6)", l.Ledger, l.Store, l.Retention, l.LongestRequest,
			l.StoresResults, l.MaxResultBytes)
		require(t, err)
	}
	_, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS go_inbox_effects "+
		"(operation text, value integer)")
	require(t, err)
	for _, one := range file.Cases {
		t.Run(one.Name, func(t *testing.T) {
			p := &player{t: t, operation: "go " + one.Name + " " + inbox.NewUUID7().String(),
				connections: map[string]*pgx.Conn{}, txs: map[string]pgx.Tx{},
				kept: map[string]any{}, tasks: map[string]chan answer{}}
			defer func() {
				for _, connection := range p.connections {
					connection.Close(ctx)
				}
			}()
			for _, text := range one.Steps {
				var s step
				require(t, strict(text, &s))
				p.play(s)
				if t.Failed() {
					t.Fatalf("in the step %s", text)
				}
			}
		})
	}
}

func TestDigestsAreTheGoldenOnes(t *testing.T) {
	pool := openPool(t)
	_, err := pool.Exec(ctx, "SELECT onceward.register_ledger('go_leases', 'lease')")
	require(t, err)
	for _, golden := range readCases(t).Digests {
		options := inbox.Options{Operation: golden.Operation, Tenant: golden.Tenant,
			Kind: golden.Kind, Ledger: "go_calls"}
		tx, err := pool.Begin(ctx)
		require(t, err)
		claim, err := inbox.New(options).Claim(ctx, tx, string(golden.Key), inbox.ClaimOptions{})
		require(t, err)
		equal(t, "digest", claim.Digest.String(), golden.Digest)
		options.Ledger = "go_leases"
		lease, err := inbox.New(options).Lease(ctx, tx, string(golden.Key), inbox.LeaseOptions{})
		require(t, err)
		equal(t, "digest", lease.Digest.String(), golden.Digest)
		equal(t, "downstream key", lease.DownstreamKey.String(), golden.DownstreamKey)
		require(t, tx.Rollback(ctx))
	}
}

func TestFingerprintsAreTheGoldenOnes(t *testing.T) {
	for _, golden := range readCases(t).Fingerprints {
		text := inbox.FingerprintOf(golden.Content)
		equal(t, "fingerprint of a text", text.String(), golden.Fingerprint)
		equal(t, "of its bytes", inbox.FingerprintOf([]byte(golden.Content)), text)
	}
}
