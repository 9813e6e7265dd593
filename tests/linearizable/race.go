package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// All ways into Onceward race for the same keys of one ledger: a worker, a route, and the programs
// of a folder, which call once() in their languages. Each is killed by SIGKILL at random and
// started again, and asks again until each key has an answer.

const (
	// Operation and kind of the route's keys, which are not free. All others take the same.
	raceOperation = "POST /effects"
	raceKind      = "header:Idempotency-Key"
	raceLedger    = "race"
	raceEffects   = "linearizable.race_effects"
	// Nobody begins with a block of keys before all are done with the one before it.
	raceBlock = 100
)

// racer is one program in the race.
type racer struct {
	name   string
	client interface{ try(*operation) tried }
	// Ends its process by SIGKILL; false if there is none just now.
	kill        func() bool
	close       func()
	kills, lost atomic.Int64
	done        []operation
}

// ask asks until there is an answer. One call in `killEvery` is killed.
func (r *racer) ask(made *operation, killEvery int, seen *history) {
	if rand.IntN(killEvery) == 0 {
		time.AfterFunc(rand.N(3*time.Millisecond), func() {
			if r.kill() {
				r.kills.Add(1)
			}
		})
	}
	doubt := false
	for range 2000 {
		switch r.client.try(made) {
		case decided:
			// A refusal says nothing of the try before it.
			if doubt && made.outcome >= none {
				made.outcome = unknown
			}
			return
		case inDoubt:
			doubt = true
		}
		time.Sleep(5 * time.Millisecond)
	}
	made.outcome, made.ret = unknown, seen.now()
	seen.complain(fmt.Sprintf("%s: key %d has no answer", r.name, made.key))
}

// take asks for all keys of a block, in an order of its own.
func (r *racer) take(number int, keys []int64, killEvery int, seen *history) {
	for _, at := range rand.Perm(len(keys)) {
		made := operation{client: number, key: keys[at], value: values.Add(1), call: seen.now()}
		r.ask(&made, killEvery, seen)
		r.done = append(r.done, made)
	}
}

// callers are the programs of a folder, each under its file's name, with these arguments.
func callers(folder string, seen *history, arguments ...string) (made []*racer, err error) {
	files, err := os.ReadDir(folder)
	for _, file := range files {
		one := &racer{name: file.Name()}
		calls := &onceClient{seen: seen, lost: &one.lost,
			command: append([]string{filepath.Join(folder, file.Name())}, arguments...)}
		one.client, one.close = calls, calls.close
		one.kill = func() bool {
			running := calls.running.Load()
			return running != nil && running.Kill() == nil
		}
		made = append(made, one)
	}
	return made, err
}

// field is all that takes keys of one ledger: the racers, of which the route is the last, and the
// worker with its broker.
type field struct {
	racers   []*racer
	worker   *raceWorker
	door     *life
	killDoor chan struct{}
}

// newField makes the ledger, the table of effects and who takes keys. Nothing has a constraint
// that keeps an effect from being there twice.
func newField(ctx context.Context, given options, in terms, effects, keyType string,
	seen *history, arguments ...string) (made *field, err error) {
	err = execute(ctx, given.dsn,
		"CREATE TABLE "+effects+" (key "+keyType+" NOT NULL, value bigint NOT NULL)",
		fmt.Sprintf(sinkFunction, in.function, effects, keyType),
		"SELECT onceward.register_ledger('"+in.ledger+"', retention => '"+in.retention+
			"', longest_request => '10 s')")
	if err != nil {
		return nil, err
	}
	made = &field{killDoor: make(chan struct{}, 1)}
	made.racers, err = callers(given.calls, seen, append([]string{given.dsn, in.ledger,
		raceOperation, raceKind, effects}, arguments...)...)
	if err != nil {
		return nil, err
	}
	if made.worker, err = newRaceWorker(given, in, seen); err != nil {
		return nil, err
	}
	door, address, err := newDoor(given.program, given.folder, given.dsn, in, 0)
	if err != nil {
		return nil, err
	}
	made.door = door
	route := &racer{name: "route"}
	requests := newRouteClient([]string{address}, seen, given.seed, &route.lost)
	route.client, route.close = requests, requests.close
	route.kill = func() bool { say(made.killDoor); return false }
	made.racers = append(made.racers, route)
	return made, nil
}

// begin starts the broker, the door and the worker, with the parts that run meanwhile.
func (f *field) begin(parts ...func(stop <-chan struct{})) (end func(), err error) {
	var ready sync.WaitGroup
	ready.Add(2)
	route := f.racers[len(f.racers)-1]
	stop := together(append(parts,
		func(stop <-chan struct{}) { f.worker.broker.run(stop, nil, &ready, new(atomic.Int64)) },
		func(stop <-chan struct{}) { f.door.run(stop, f.killDoor, &ready, &route.kills) })...)
	ready.Wait()
	if err = f.worker.begin(); err != nil {
		stop()
		return nil, err
	}
	return func() {
		f.worker.stop()
		for _, one := range f.racers {
			one.close()
		}
		stop()
	}, nil
}

// runRace races for keys 1 to `keys`. Answers with what each program saw, and all of it.
func runRace(ctx context.Context, given options) (*target, []*racer, *raceWorker, error) {
	fail := func(err error) (*target, []*racer, *raceWorker, error) { return nil, nil, nil, err }
	config, err := pgx.ParseConfig(given.dsn)
	if err != nil {
		return fail(err)
	}
	in := terms{function: "race", ledger: raceLedger, retention: "24h", rotate: "3h", minted: "none"}
	made := &target{name: "race", seen: newHistory(), effects: raceEffects}
	all, err := newField(ctx, given, in, raceEffects, "bigint", made.seen)
	if err != nil {
		return fail(err)
	}
	racers, worker := all.racers, all.worker
	turns := rotator{ledger: raceLedger}
	rotate := make(chan struct{}, 1)
	end, err := all.begin(func(stop <-chan struct{}) { turns.run(stop, rotate, config) })
	if err != nil {
		return fail(err)
	}
	defer end()
	begin := time.Now()
	for first := 1; first <= given.race && len(made.seen.complaints) == 0; first += raceBlock {
		var keys []int64
		for key := first; key < first+raceBlock && key <= given.race; key++ {
			keys = append(keys, int64(key))
		}
		var group sync.WaitGroup
		for number, one := range racers {
			group.Go(func() { one.take(number+1, keys, min(150, max(25, given.race/40)), made.seen) })
		}
		group.Go(func() { worker.take(ctx, keys, given.dsn) })
		group.Wait()
		if first/raceBlock%10 == 4 {
			say(rotate)
			log.Printf("%d keys are taken after %.0f s", first+len(keys)-1,
				time.Since(begin).Seconds())
		}
	}
	made.elapsed = time.Since(begin)
	for _, one := range racers {
		made.seen.add(one.done)
	}
	made.seen.add(worker.done)
	made.rotations = turns.rotations.Load()
	return made, racers, worker, nil
}
