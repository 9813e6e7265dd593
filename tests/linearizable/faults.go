package main

import (
	"context"
	"log"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// killer ends sessions of clients by pg_terminate_backend: any of them at any time, and those that
// are about to commit.
type killer struct {
	pids  []atomic.Uint32
	wish  chan uint32
	kills atomic.Int64
}

func newKiller(clients int) *killer {
	return &killer{pids: make([]atomic.Uint32, clients), wish: make(chan uint32, clients)}
}

// soon asks for an end within the next half a millisecond or so, the time of a COMMIT.
func (k *killer) soon(pid uint32) {
	select {
	case k.wish <- pid:
	default:
	}
}

func (k *killer) run(stop, now <-chan struct{}, config *pgx.ConnConfig) {
	repeat(stop, config, func(conn *pgx.Conn) error {
		var pid uint32
		select {
		case <-stop:
			return nil
		case pid = <-k.wish:
			time.Sleep(rand.N(500 * time.Microsecond))
		case <-now:
			pid = k.pids[rand.IntN(len(k.pids))].Load()
		}
		if pid == 0 {
			return nil
		}
		var done bool
		err := conn.QueryRow(context.Background(), "SELECT pg_terminate_backend($1)",
			int32(pid)).Scan(&done)
		if done {
			k.kills.Add(1)
		}
		return err
	})
}

// rotator seals the open generation of a ledger again and again.
type rotator struct {
	ledger string
	// The age of a generation that is sealed then, and that claims may expire; '': any age, and
	// nothing may expire.
	after     string
	rotations atomic.Int64
	// How often a claim's transaction held it up.
	heldUp atomic.Int64
}

func (r *rotator) run(stop, now <-chan struct{}, config *pgx.ConnConfig) {
	repeat(stop, config, func(conn *pgx.Conn) error {
		select {
		case <-stop:
			return nil
		case <-now:
		}
		var sealed bool
		var unlisted int
		var holder *string
		err := conn.QueryRow(context.Background(),
			"SELECT sealed, unlisted, held_up_by FROM onceward.expire($1, "+
				"coalesce(nullif($2, ''), '0')::interval)",
			r.ledger, r.after).Scan(&sealed, &unlisted, &holder)
		if err != nil {
			return err
		}
		if unlisted > 0 && r.after == "" {
			log.Fatal("a generation expired: the retention is too short for this run")
		}
		if sealed {
			r.rotations.Add(1)
		}
		if holder != nil {
			r.heldUp.Add(1)
		}
		return nil
	})
}

// repeat calls work with a connection until stop is closed. An error is said, and ends nothing.
func repeat(stop <-chan struct{}, config *pgx.ConnConfig, work func(*pgx.Conn) error) {
	var conn *pgx.Conn
	for {
		select {
		case <-stop:
			if conn != nil {
				conn.Close(context.Background())
			}
			return
		default:
		}
		var err error
		if conn == nil || conn.IsClosed() {
			conn, err = pgx.ConnectConfig(context.Background(), config)
		}
		if err == nil {
			err = work(conn)
		}
		if err != nil {
			log.Print(err)
			pause(stop, 200*time.Millisecond)
		}
	}
}

func pause(stop <-chan struct{}, length time.Duration) {
	select {
	case <-stop:
	case <-time.After(length):
	}
}

// together runs the parts until the function that it returns is called.
func together(parts ...func(stop <-chan struct{})) (end func()) {
	stop := make(chan struct{})
	var group sync.WaitGroup
	for _, part := range parts {
		group.Go(func() { part(stop) })
	}
	return func() {
		close(stop)
		group.Wait()
	}
}
