package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Keys that come again, all ways, when their claims are long gone. Claims are kept for seconds, and
// the ledger drops generations all the time. Each key says when it was minted.

const (
	lateLedger  = "late"
	lateEffects = "linearizable.late_effects"
	// The same with the keys' numbers.
	lateNumbers = "linearizable.late_numbers"
	// The age of a generation that is sealed.
	lateAge = 4 * time.Second
	// What a route's request may take, and claims are kept longer for: 30 s and statement_timeout.
	lateRequest  = 32 * time.Second
	latePostgres = ", statement_timeout: 2s, lock_timeout: 1s"
)

type lateKey struct {
	number int64
	name   string
	// Since the history began, as all times here.
	minted time.Duration
	// It is not sent before the ledger's memory has passed it.
	held bool
}

// send is a call to come.
type send struct {
	at  time.Duration
	key *lateKey
}

// lateRun is one run with keys that come late.
type lateRun struct {
	*target
	*field
	given             options
	retention, length time.Duration
	// After so long a claim is gone.
	gone    time.Duration
	keys    []*lateKey
	minted  string
	letters letters
}

func newLateRun(ctx context.Context, given options, keys int, minted string) (*lateRun, error) {
	made := &lateRun{given: given, minted: minted,
		retention: time.Duration(given.retention) * time.Second,
		length:    time.Duration(given.seconds) * time.Second,
		target:    &target{name: "late", effects: lateNumbers}}
	made.gone = made.retention + lateRequest + 3*lateAge
	if made.length < made.gone+20*time.Second {
		return nil, fmt.Errorf("the last claims are gone after %v: SECONDS has to be 20 more",
			made.gone)
	}
	made.seen = newHistory()
	in := terms{function: "late", ledger: lateLedger, retention: made.retention.String(),
		rotate: lateAge.String(), minted: minted, postgres: latePostgres}
	var err error
	made.field, err = newField(ctx, given, in, lateEffects, "uuid", made.seen,
		fmt.Sprint(given.retention), minted)
	if err != nil {
		return nil, err
	}
	made.worker.produce = append(made.worker.produce, "--repeat-share", "0.05")
	return made, execute(ctx, given.dsn, "CREATE VIEW "+lateNumbers+` AS SELECT
		('x' || right(key::text, 12))::bit(48)::bigint AS key, value FROM `+lateEffects)
}

// plan mints the keys from now on, and says who sends which and when: first several at once, then
// each while the ledger knows the key, and each twice when it does not any more. The worker is the
// last.
func (l *lateRun) plan(keys int) [][]send {
	l.seen.start = time.Now()
	first := l.seen.start.UnixMilli()
	sends := make([][]send, len(l.racers)+1)
	window := l.length - l.gone - 10*time.Second
	for number := range keys {
		minted := rand.N(window).Truncate(time.Millisecond)
		at := first + minted.Milliseconds()
		key := &lateKey{number: int64(number + 1), minted: minted, held: number%8 == 0,
			name: fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, number+1)}
		l.keys = append(l.keys, key)
		one := rand.IntN(len(sends))
		for program := range sends {
			add := func(from, to time.Duration) {
				sends[program] = append(sends[program], send{from + rand.N(to-from), key})
			}
			if !key.held && (program == one || rand.IntN(2) == 0) {
				add(minted+5*time.Millisecond, minted+10*time.Millisecond)
			}
			if !key.held {
				add(minted+time.Second, minted+l.retention)
			}
			add(minted+l.gone, l.length)
			add(minted+l.gone, l.length)
		}
	}
	for _, all := range sends {
		slices.SortFunc(all, func(a, b send) int { return cmp.Compare(a.at, b.at) })
	}
	return sends
}

func (l *lateRun) operation(client int, key *lateKey) operation {
	return operation{client: client, key: key.number, name: key.name, value: values.Add(1),
		call: l.seen.now()}
}

// wait waits until that time; it may have passed.
func (l *lateRun) wait(until time.Duration) { time.Sleep(until - time.Duration(l.seen.now())) }

func (l *lateRun) run(ctx context.Context, keys int) error {
	config, err := pgx.ParseConfig(l.given.dsn)
	if err != nil {
		return err
	}
	turns := rotator{ledger: lateLedger, after: lateAge.String()}
	rotate := make(chan struct{}, 1)
	end, err := l.begin(
		func(stop <-chan struct{}) { turns.run(stop, rotate, config) },
		func(stop <-chan struct{}) {
			for {
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Millisecond):
					say(rotate)
				}
			}
		})
	if err != nil {
		return err
	}
	defer end()
	sends := l.plan(keys)
	operator := together(func(stop <-chan struct{}) { l.operate(ctx, stop) })
	var group sync.WaitGroup
	for number, one := range l.racers {
		group.Go(func() {
			for _, next := range sends[number] {
				l.wait(next.at)
				made := l.operation(number, next.key)
				one.ask(&made, max(25, len(sends[number])/30), l.seen)
				one.done = append(one.done, made)
			}
		})
	}
	group.Go(func() { l.produce(sends[len(l.racers)]) })
	group.Wait()
	operator()
	l.settle(ctx)
	for _, one := range l.racers {
		l.seen.add(one.done)
	}
	l.seen.add(l.worker.done)
	l.rotations, l.elapsed = turns.rotations.Load(), time.Duration(l.seen.now())
	return nil
}
