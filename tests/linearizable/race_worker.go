package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const workerConfiguration = `group: race
kafka:
  bootstrap_servers: %s
  instance_id: racer
postgres: {dsn: "${ONCEWARD_JUDGE_DSN}"}
admin: {listen: off}
topics:
  - name: race
    key:
      sources: [{header: Idempotency-Key, strip_quotes: true, kind: "%s"}]
      operation: %s
    ledger: {name: %s, retention: 24h}
    results: {}
    sink:
      function: linearizable.race
      columns: {key: /key, value: /value}
`

// raceWorker is "onceward run" on a topic of the keys, with its broker.
type raceWorker struct {
	broker, worker *life
	produce        []string // the producer's command
	seen           *history
	kills          atomic.Int64
	now            chan struct{}
	stop           func()
	done           []operation
}

func newRaceWorker(given options, seen *history) (made *raceWorker, err error) {
	ports := make([]int, 2)
	for at := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports[at] = listener.Addr().(*net.TCPAddr).Port
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	named := func(name string) string { return filepath.Join(given.folder, name) }
	made = &raceWorker{seen: seen, now: make(chan struct{}, 1)}
	made.broker = &life{command: []string{given.broker, named("broker"), strconv.Itoa(ports[0]),
		strconv.Itoa(ports[1]), "auto.create.topics.enable=true"}}
	made.broker.ready = func() bool {
		text, _ := os.ReadFile(made.broker.log.Name())
		return strings.Contains(string(text), "Kafka Server started")
	}
	made.worker = &life{command: []string{given.program, "run", "--config", named("worker.yaml")},
		dsn: given.dsn}
	if made.broker.log, err = os.Create(named("broker.log")); err != nil {
		return nil, err
	}
	if made.worker.log, err = os.Create(named("worker.log")); err != nil {
		return nil, err
	}
	made.produce = []string{given.program, "produce", "--topic", "race", "--bootstrap-server",
		address, "--key-field", "key"}
	return made, os.WriteFile(named("worker.yaml"),
		fmt.Appendf(nil, workerConfiguration, address, raceKind, raceOperation, raceLedger), 0o600)
}

// begin starts the worker; the broker runs. The worker's kills begin with it.
func (w *raceWorker) begin() (err error) {
	// A producer without records asks for the topic, which makes the broker create it.
	for range 100 {
		if err = w.send(""); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	var ready sync.WaitGroup
	ready.Add(1)
	w.stop = together(func(stop <-chan struct{}) { w.worker.run(stop, w.now, &ready, &w.kills) })
	ready.Wait()
	return nil
}

// send runs a producer for the lines.
func (w *raceWorker) send(lines string) error {
	process := exec.Command(w.produce[0], w.produce[1:]...)
	process.Stdin = strings.NewReader(lines)
	output, err := process.CombinedOutput()
	if err != nil {
		return fmt.Errorf("onceward produce: %w: %s", err, output)
	}
	return nil
}

// take sends records of the keys and waits until the fences have passed them, which is when the
// worker has answered all of them. What became of each is seen in the effects alone.
func (w *raceWorker) take(ctx context.Context, keys []int64, dsn string) {
	var lines strings.Builder
	for _, at := range rand.Perm(len(keys)) {
		made := operation{key: keys[at], value: values.Add(1), call: w.seen.now(),
			outcome: unknown}
		w.done = append(w.done, made)
		fmt.Fprintf(&lines, "{\"key\": %d, \"value\": %d}\n", made.key, made.value)
	}
	if len(w.done) <= 3*raceBlock || rand.IntN(2) == 0 {
		time.AfterFunc(rand.N(400*time.Millisecond), func() { say(w.now) })
	}
	if err := w.send(lines.String()); err != nil {
		w.seen.complain(err.Error())
		return
	}
	for range 6000 {
		passed, err := passed(ctx, dsn)
		if err == nil && passed.applied+passed.duplicates >= int64(len(w.done)) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.seen.complain("the worker has not passed all records:\n" + w.worker.tail())
}

// fences is what the worker says of itself.
type fences struct{ applied, duplicates, others int64 }

func passed(ctx context.Context, dsn string) (found fences, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return found, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(applied), 0)::bigint,
		coalesce(sum(duplicates), 0)::bigint,
		coalesce(sum(conflicts + dead_lettered + skipped), 0)::bigint
		FROM onceward.fences`).Scan(&found.applied, &found.duplicates, &found.others)
	return found, err
}
