package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	tryWithin = 30 * time.Second
	// How likely a fresh claim's COMMIT is met by the proxy, or by pg_terminate_backend.
	proxyMeets  = 0.3
	killerMeets = 0.12
	// How likely the work between claim and COMMIT takes up to that long. Some is longer than a
	// rotation waits, and longer than PostgreSQL takes to plan the claims of a new generation.
	worksShort, shortWork = 0.15, 20 * time.Millisecond
	worksLong, longWork   = 0.05, 200 * time.Millisecond
)

const claimText = `SELECT outcome, digest::text, coalesce(mine, false), convert_from(body, 'UTF8')
FROM onceward.claim('judge', '', 'key', $1::text, attempt => $2::uuid, ledger => $3)`

const effectText = `INSERT INTO linearizable.inbox_effects (key, value) VALUES ($1, $2)`

const effectFirstText = `INSERT INTO linearizable.inbox_effects (key, value)
SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM linearizable.inbox_effects e WHERE e.key = $1)`

const finishText = `SELECT onceward.finish($1::uuid, $2::uuid, 200,
    body => convert_to($3, 'UTF8'), ledger => $4)`

// inboxClient claims and finishes keys by SQL, as any program does: BEGIN, claim, the effect,
// finish, COMMIT.
type inboxClient struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn
	ledger string
	seen   *history
	random *rand.Rand
	// Only for clients whose connections go through it.
	proxy *proxy
	kills *killer
	place int
	// A mistake that the judge has to find.
	effectFirst bool
}

func (c *inboxClient) do(made *operation) {
	pursue(made, c.seen, c.random, mostTries, func(doubt bool) tried { return c.try(made, doubt) })
}

func (c *inboxClient) try(made *operation, before bool) tried {
	limit, cancel := context.WithTimeout(context.Background(), tryWithin)
	defer cancel()
	if !c.connected(limit) {
		return noEffect
	}
	if c.effectFirst {
		if _, err := c.conn.Exec(limit, effectFirstText, made.key, made.value); err != nil {
			return c.failed(limit, err)
		}
	}
	digest, result := c.claim(limit, made, before)
	if digest == "" {
		if c.conn != nil && c.conn.PgConn().TxStatus() != 'I' {
			c.conn.Exec(limit, "COMMIT")
		}
		return result
	}
	var batch pgx.Batch
	if !c.effectFirst {
		batch.Queue(effectText, made.key, made.value)
	}
	batch.Queue(finishText, digest, attempt(made.value), strconv.FormatInt(made.value, 10), c.ledger)
	if err := c.conn.SendBatch(limit, &batch).Close(); err != nil {
		c.failed(limit, err)
		return noEffect
	}
	c.work()
	c.meetCommit()
	tag, err := c.conn.Exec(limit, "COMMIT")
	if err != nil {
		return c.failed(limit, err)
	}
	if tag.String() != "COMMIT" {
		return noEffect
	}
	made.answered(made.value, c.seen.now())
	return decided
}

// claim begins a transaction and claims the key. It answers with a digest if the claim is fresh.
// The time of another answer is this moment: nothing that happens to the transaction later
// makes it wrong.
func (c *inboxClient) claim(limit context.Context, made *operation, before bool) (string, tried) {
	var batch pgx.Batch
	batch.Queue("BEGIN")
	batch.Queue(claimText, strconv.FormatInt(made.key, 10), attempt(made.value), c.ledger)
	var outcome, digest string
	var mine bool
	var body *string
	results := c.conn.SendBatch(limit, &batch)
	_, err := results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(&outcome, &digest, &mine, &body)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		c.failed(limit, err)
		return "", noEffect
	}
	if outcome == "fresh" {
		return digest, noEffect
	}
	stored, _ := strconv.ParseInt(*orEmpty(body), 10, 64)
	if outcome != "duplicate" || mine != (stored == made.value) || (mine && !before) {
		c.seen.complain(fmt.Sprintf("key %d, value %d: %s, mine %t, body %q, in doubt before %t",
			made.key, made.value, outcome, mine, *orEmpty(body), before))
	}
	made.answered(stored, c.seen.now())
	return "", decided
}

// failed ends a transaction that has failed. PostgreSQL's ERROR is its answer; anything else
// leaves open whether a COMMIT took place.
func (c *inboxClient) failed(limit context.Context, err error) tried {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR" {
		switch refused.Code {
		case "40001", "40P01", "55P03":
		default:
			c.seen.complain("PostgreSQL: " + refused.Code + " " + refused.Message)
		}
		c.conn.Exec(limit, "ROLLBACK")
		return noEffect
	}
	c.close()
	return inDoubt
}

func (c *inboxClient) connected(limit context.Context) bool {
	if c.conn != nil && !c.conn.IsClosed() {
		return true
	}
	conn, err := pgx.ConnectConfig(limit, c.config)
	if err != nil {
		return false
	}
	c.conn = conn
	c.kills.pids[c.place].Store(conn.PgConn().PID())
	return true
}

func (c *inboxClient) close() {
	if c.conn == nil {
		return
	}
	c.kills.pids[c.place].Store(0)
	limit, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.conn.Close(limit)
	c.conn = nil
}

func (c *inboxClient) work() {
	switch drawn := c.random.Float64(); {
	case drawn < worksLong:
		time.Sleep(rand.N(longWork))
	case drawn < worksLong+worksShort:
		time.Sleep(rand.N(shortWork))
	}
}

// meetCommit lets some of the COMMITs that follow be lost, unanswered, late or killed.
func (c *inboxClient) meetCommit() {
	if c.proxy != nil && c.random.Float64() < proxyMeets {
		what := fate(1 + c.random.IntN(3))
		c.proxy.meet(c.conn.PgConn().Conn().LocalAddr().String(), what)
	} else if c.random.Float64() < killerMeets {
		c.kills.soon(c.conn.PgConn().PID())
	}
}

// attempt is the UUID of a value.
func attempt(value int64) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", value) }

func orEmpty(text *string) *string {
	if text == nil {
		return new(string)
	}
	return text
}
