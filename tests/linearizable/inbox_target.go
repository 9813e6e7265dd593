package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	inboxClients = 16
	// Every fourth of them connects through the proxy.
	proxyOf = 4
	// A ledger is rotated so often and then left, because each rotation adds a table that every
	// claim looks into, and nothing may expire.
	turnsOfLedger = 10
)

var (
	inboxPace  = pace{kill: 400, rotate: 2500}
	routePace  = pace{kill: 800, rotate: 2500}
	oncePace   = pace{kill: 150, rotate: 2500}
	mutantPace = pace{kill: 400, rotate: 500}
)

// target is what was seen of one way into Onceward.
type target struct {
	name       string
	operations int
	seen       *history
	elapsed    time.Duration
	kills      int64
	cuts       int64
	rotations  int64
	// The table in the schema `linearizable` that has a row for each effect: key and value.
	effects string
}

func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, one := range statements {
		if _, err := conn.Exec(ctx, one); err != nil {
			return fmt.Errorf("%w in %s", err, one)
		}
	}
	return nil
}

// makeEffects makes the tables of effects. They have no unique constraint: what takes effect twice
// is to be there twice.
func makeEffects(ctx context.Context, dsn string) error {
	return execute(ctx, dsn, "DROP SCHEMA IF EXISTS linearizable CASCADE",
		"CREATE SCHEMA linearizable",
		"CREATE TABLE linearizable.inbox_effects (key bigint NOT NULL, value bigint NOT NULL)",
		"CREATE TABLE linearizable.route_effects (key bigint NOT NULL, value bigint NOT NULL)",
		"CREATE TABLE linearizable.once_effects (key bigint NOT NULL, value bigint NOT NULL)")
}

func runInbox(ctx context.Context, dsn string, operations int, often pace,
	seed uint64, effectFirst bool) (*target, error) {
	direct, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	direct.TLSConfig, direct.Fallbacks = nil, nil
	network, address := "tcp", net.JoinHostPort(direct.Host, strconv.Itoa(int(direct.Port)))
	if direct.Host[0] == '/' {
		network, address = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", direct.Host, direct.Port)
	}
	cutting, err := newProxy(network, address)
	if err != nil {
		return nil, err
	}
	defer cutting.close()
	through := direct.Copy()
	through.Host, through.Port = "127.0.0.1", cutting.port()

	made := &target{name: "inbox", operations: operations, seen: newHistory(),
		effects: "linearizable.inbox_effects"}
	kills := newKiller(inboxClients)
	clients := make([]client, inboxClients)
	for place := range clients {
		one := &inboxClient{config: direct, seen: made.seen, kills: kills, place: place,
			effectFirst: effectFirst,
			random:      rand.New(rand.NewPCG(seed, uint64(place)))}
		if place%proxyOf == 0 {
			one.config, one.proxy = through, cutting
		}
		clients[place] = one
	}
	begin := time.Now()
	for round := 0; operations > 0; round++ {
		ledger := fmt.Sprintf("judge-%d-%d", begin.UnixMicro(), round)
		now := min(operations, often.rotate*turnsOfLedger)
		operations -= now
		turns, err := inLedger(ctx, direct, ledger, clients, kills,
			newKeyring(now, often, seed+uint64(round)))
		if err != nil {
			return nil, err
		}
		made.rotations += turns
		if round%8 == 7 {
			log.Printf("%d operations of the inbox are left", operations)
		}
	}
	made.elapsed = time.Since(begin)
	for _, one := range clients {
		one.close()
	}
	made.kills, made.cuts = kills.kills.Load(), cutting.cuts.Load()
	return made, nil
}

// inLedger lets the clients use one ledger, whose generation is sealed all the time.
func inLedger(ctx context.Context, config *pgx.ConnConfig, ledger string, clients []client,
	kills *killer, keys *keyring) (rotations int64, err error) {
	err = execute(ctx, config.ConnString(),
		"SELECT onceward.register_ledger('"+ledger+"', retention => '24 hours')")
	if err != nil {
		return 0, err
	}
	for _, one := range clients {
		one.(*inboxClient).ledger = ledger
	}
	turns := rotator{ledger: ledger}
	end := together(
		func(stop <-chan struct{}) { kills.run(stop, keys.kill, config) },
		func(stop <-chan struct{}) { turns.run(stop, keys.rotate, config) })
	defer end()
	drive(clients, keys, clients[0].(*inboxClient).seen)
	return turns.rotations.Load(), nil
}
