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

const workerConfiguration = `group: %[1]s
kafka:
  bootstrap_servers: %[2]s
  instance_id: racer
postgres: {dsn: "${ONCEWARD_JUDGE_DSN}"%[8]s}
admin: {listen: off}
topics:
  - name: %[1]s
    key:
      sources: [{header: Idempotency-Key, strip_quotes: true, kind: "%[3]s"}]
      operation: %[4]s
      minted_at: %[5]s
    ledger: {name: %[6]s, retention: %[7]s, rotate_after: %[9]s}
    # A rewind brings nothing but late keys, and must not halt the topic.
    reject_cap: {share: 1}
    results: {}
    sink:
      function: linearizable.%[1]s
      columns: {key: /key, value: /value}
`

// raceWorker is "onceward run" on a topic of the keys, with its broker.
type raceWorker struct {
	broker, worker *life
	produce        []string // the producer's command
	configured     string   // the worker's configuration
	seen           *history
	kills          atomic.Int64
	now            chan struct{}
	stop           func()
	done           []operation
}

func newRaceWorker(given options, in terms, seen *history) (made *raceWorker, err error) {
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
	made.produce = []string{given.program, "produce", "--topic", in.function, "--bootstrap-server",
		address, "--key-field", "key"}
	made.configured = named("worker.yaml")
	return made, os.WriteFile(made.configured,
		fmt.Appendf(nil, workerConfiguration, in.function, address, raceKind, raceOperation,
			in.minted, in.ledger, in.retention, in.postgres, in.rotate), 0o600)
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
type fences struct{ applied, duplicates, others, late int64 }

func passed(ctx context.Context, dsn string) (found fences, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return found, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT coalesce(sum(applied), 0)::bigint,
		coalesce(sum(duplicates), 0)::bigint,
		coalesce(sum(conflicts + dead_lettered + skipped), 0)::bigint,
		coalesce(sum(dead_lettered), 0)::bigint
		FROM onceward.fences`).Scan(&found.applied, &found.duplicates, &found.others, &found.late)
	return found, err
}
