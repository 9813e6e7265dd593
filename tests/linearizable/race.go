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

// take asks for all keys of a block, in an order of its own. One call in `killEvery` is killed.
func (r *racer) take(number int, keys []int64, killEvery int, seen *history) {
	for _, at := range rand.Perm(len(keys)) {
		made := operation{client: number, key: keys[at], value: values.Add(1), call: seen.now()}
		if rand.IntN(killEvery) == 0 {
			time.AfterFunc(rand.N(3*time.Millisecond), func() {
				if r.kill() {
					r.kills.Add(1)
				}
			})
		}
		tries := 0
		for ; tries < 2000 && r.client.try(&made) != decided; tries++ {
			time.Sleep(5 * time.Millisecond)
		}
		if tries == 2000 {
			made.outcome, made.ret = unknown, seen.now()
			seen.complain(fmt.Sprintf("%s: key %d has no answer", r.name, made.key))
		}
		r.done = append(r.done, made)
	}
}

// callers are the programs of a folder, each under its file's name.
func callers(folder, dsn string, seen *history) (made []*racer, err error) {
	files, err := os.ReadDir(folder)
	for _, file := range files {
		one := &racer{name: file.Name()}
		calls := &onceClient{seen: seen, lost: &one.lost,
			command: []string{filepath.Join(folder, file.Name()), dsn, raceLedger, raceOperation,
				raceKind, raceEffects}}
		one.client, one.close = calls, calls.close
		one.kill = func() bool {
			running := calls.running.Load()
			return running != nil && running.Kill() == nil
		}
		made = append(made, one)
	}
	return made, err
}

// runRace races for keys 1 to `keys`. Answers with what each program saw, and all of it.
func runRace(ctx context.Context, given options) (*target, []*racer, *raceWorker, error) {
	fail := func(err error) (*target, []*racer, *raceWorker, error) { return nil, nil, nil, err }
	config, err := pgx.ParseConfig(given.dsn)
	if err != nil {
		return fail(err)
	}
	err = execute(ctx, given.dsn,
		"CREATE TABLE "+raceEffects+" (key bigint NOT NULL, value bigint NOT NULL)",
		fmt.Sprintf(sinkFunction, "race", raceEffects),
		"SELECT onceward.register_ledger('"+raceLedger+"', retention => '24 hours')")
	if err != nil {
		return fail(err)
	}
	made := &target{name: "race", seen: newHistory(), effects: raceEffects}
	racers, err := callers(given.calls, given.dsn, made.seen)
	if err != nil {
		return fail(err)
	}
	worker, err := newRaceWorker(given, made.seen)
	if err != nil {
		return fail(err)
	}
	door, address, err := newDoor(given.program, given.folder, given.dsn, "race", raceLedger, 0)
	if err != nil {
		return fail(err)
	}
	route := &racer{name: "route"}
	requests := newRouteClient([]string{address}, made.seen, given.seed, &route.lost)
	route.client, route.close = requests, requests.close
	killDoor := make(chan struct{}, 1)
	route.kill = func() bool { say(killDoor); return false }
	racers = append(racers, route)

	var ready sync.WaitGroup
	ready.Add(2)
	turns := rotator{ledger: raceLedger}
	rotate := make(chan struct{}, 1)
	end := together(
		func(stop <-chan struct{}) { worker.broker.run(stop, nil, &ready, new(atomic.Int64)) },
		func(stop <-chan struct{}) { door.run(stop, killDoor, &ready, &route.kills) },
		func(stop <-chan struct{}) { turns.run(stop, rotate, config) })
	defer end()
	ready.Wait()
	if err = worker.begin(); err != nil {
		return fail(err)
	}
	defer worker.stop()
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
		one.close()
		made.seen.add(one.done)
	}
	made.seen.add(worker.done)
	made.rotations = turns.rotations.Load()
	return made, racers, worker, nil
}
