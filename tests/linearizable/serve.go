package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	routeClients = 16
	doorsOfRoute = 2
)

const routeFunction = `CREATE FUNCTION linearizable.take_effect(requests jsonb[])
    RETURNS TABLE (value bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY INSERT INTO linearizable.route_effects (key, value)
        SELECT (r.request ->> 'key')::bigint, (r.request ->> 'value')::bigint
        FROM unnest(requests) WITH ORDINALITY AS r (request, place) ORDER BY r.place
        RETURNING route_effects.value;
END
$$`

const routeConfiguration = `group: judge
postgres: {dsn: "${ONCEWARD_JUDGE_DSN}"}
admin: {listen: off}
http:
  listen: %s
  routes:
    - method: POST
      path: /effects
      wait: 500ms
      fingerprint: none
      sink:
        function: linearizable.take_effect
        columns: {key: {header: idempotency-key}, value: /value}
      ledger: {name: %s, retention: 24h}
`

// door is one process of "onceward serve", at one address, killed and started again.
type door struct {
	program, configuration, address, dsn string
	log                                  *os.File
}

func newDoor(program, folder, dsn, ledger string, number int) (*door, error) {
	// The port is free again a moment later, and no other program of this test takes one.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	made := &door{program: program, address: listener.Addr().String(), dsn: dsn,
		configuration: filepath.Join(folder, fmt.Sprintf("door%d.yaml", number))}
	listener.Close()
	made.log, err = os.Create(filepath.Join(folder, fmt.Sprintf("door%d.log", number)))
	if err != nil {
		return nil, err
	}
	return made, os.WriteFile(made.configuration,
		fmt.Appendf(nil, routeConfiguration, made.address, ledger), 0o600)
}

// start starts the process and waits until it listens.
func (d *door) start() (*exec.Cmd, error) {
	process := exec.Command(d.program, "serve", "--config", d.configuration)
	process.Env = append(os.Environ(), "ONCEWARD_JUDGE_DSN="+d.dsn)
	process.Stdout, process.Stderr = d.log, d.log
	// It does not outlive this program, nor the thread of run, which starts it.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return nil, err
	}
	for range 2000 {
		conn, err := net.Dial("tcp", d.address)
		if err == nil {
			conn.Close()
			return process, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	process.Process.Kill()
	process.Wait()
	text, _ := os.ReadFile(d.log.Name())
	return nil, fmt.Errorf("onceward serve does not listen:\n%s", tail(string(text), 20))
}

// run starts the process, and says so to ready the first time. At each word of now it kills the
// process by SIGKILL and starts the next one.
func (d *door) run(stop, now <-chan struct{}, ready *sync.WaitGroup, kills *atomic.Int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := true
	for {
		process, err := d.start()
		if err != nil {
			log.Fatal(err)
		}
		if first {
			first = false
			ready.Done()
		}
		select {
		case <-stop:
		case <-now:
			pause(stop, rand.N(20*time.Millisecond))
		}
		process.Process.Kill()
		process.Wait()
		select {
		case <-stop:
			return
		default:
			kills.Add(1)
		}
	}
}

func runRoute(ctx context.Context, program, folder, dsn string, operations int,
	seed uint64) (*target, error) {
	if err := execute(ctx, dsn, routeFunction); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	made := &target{name: "route", operations: operations, seen: newHistory(),
		effects: "linearizable.route_effects"}
	ledger := fmt.Sprintf("judge/route-%d", time.Now().UnixMicro())
	keys := newKeyring(operations, routePace, seed)
	var ready sync.WaitGroup
	var kills, lost atomic.Int64
	var parts []func(<-chan struct{})
	var addresses []string
	for number := range doorsOfRoute {
		one, err := newDoor(program, folder, dsn, ledger, number)
		if err != nil {
			return nil, err
		}
		defer one.log.Close()
		addresses = append(addresses, "http://"+one.address)
		ready.Add(1)
		parts = append(parts, func(stop <-chan struct{}) { one.run(stop, keys.kill, &ready, &kills) })
	}
	end := together(parts...)
	ready.Wait()
	turns := rotator{ledger: ledger}
	endTurns := together(func(stop <-chan struct{}) { turns.run(stop, keys.rotate, config) })
	clients := make([]client, routeClients)
	for place := range clients {
		clients[place] = newRouteClient(addresses, made.seen, seed+uint64(place), &lost)
	}
	begin := time.Now()
	drive(clients, keys, made.seen)
	made.elapsed = time.Since(begin)
	endTurns()
	end()
	made.kills, made.cuts, made.rotations = kills.Load(), lost.Load(), turns.rotations.Load()
	return made, nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
