package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	routeClients = 16
	doorsOfRoute = 2
)

// sinkFunction writes the effects of a batch into a table: the function's name, the table's and
// the type of keys.
const sinkFunction = `CREATE FUNCTION linearizable.%[1]s(requests jsonb[])
    RETURNS TABLE (value bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY INSERT INTO %[2]s AS e (key, value)
        SELECT (r.request ->> 'key')::%[3]s, (r.request ->> 'value')::bigint
        FROM unnest(requests) WITH ORDINALITY AS r (request, place) ORDER BY r.place
        RETURNING e.value;
END
$$`

const routeConfiguration = `group: judge
postgres: {dsn: "${ONCEWARD_JUDGE_DSN}"%s}
admin: {listen: off}
http:
  listen: %s
  routes:
    - method: POST
      path: /effects
      wait: 500ms
      fingerprint: none
      key: {minted_at: %s}
      sink:
        function: linearizable.%s
        columns: {key: {header: idempotency-key}, value: /value}
      ledger: {name: %s, retention: %s, rotate_after: %s}
`

// terms are what differs between the configurations of routes and workers.
type terms struct {
	function  string // also the topic's and the group's name
	ledger    string
	retention string
	rotate    string // after which a generation is sealed
	minted    string
	postgres  string // further members
}

// newDoor is a process of "onceward serve" at an address of its own.
func newDoor(program, folder, dsn string, in terms, number int) (*life, string, error) {
	// The port is free again a moment later, and no other program of this test takes one.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := listener.Addr().String()
	listener.Close()
	named := filepath.Join(folder, fmt.Sprintf("door%d", number))
	made := &life{command: []string{program, "serve", "--config", named + ".yaml"}, dsn: dsn,
		ready: func() bool {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err == nil
		}}
	if made.log, err = os.Create(named + ".log"); err != nil {
		return nil, "", err
	}
	return made, "http://" + address, os.WriteFile(named+".yaml",
		fmt.Appendf(nil, routeConfiguration, in.postgres, address, in.minted, in.function,
			in.ledger, in.retention, in.rotate), 0o600)
}

func runRoute(ctx context.Context, program, folder, dsn string, operations int,
	seed uint64) (*target, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	made := &target{name: "route", operations: operations, seen: newHistory(),
		effects: "linearizable.route_effects"}
	err = execute(ctx, dsn, fmt.Sprintf(sinkFunction, "take_effect", made.effects, "bigint"))
	if err != nil {
		return nil, err
	}
	ledger := fmt.Sprintf("judge/route-%d", time.Now().UnixMicro())
	in := terms{function: "take_effect", ledger: ledger, retention: "24h", rotate: "3h",
		minted: "none"}
	keys := newKeyring(operations, routePace, seed)
	var ready sync.WaitGroup
	var kills, lost atomic.Int64
	var parts []func(<-chan struct{})
	var addresses []string
	for number := range doorsOfRoute {
		one, address, err := newDoor(program, folder, dsn, in, number)
		if err != nil {
			return nil, err
		}
		defer one.log.Close()
		addresses = append(addresses, address)
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
