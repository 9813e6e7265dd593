package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const onceClients = 8

// onceClient calls once() in a process of its own, a line for each call. The programs are in
// calls/.
type onceClient struct {
	command []string
	seen    *history
	random  *rand.Rand
	lost    *atomic.Int64
	process *exec.Cmd
	input   io.WriteCloser
	answers *bufio.Reader
	// Read by who kills.
	running atomic.Pointer[os.Process]
}

func (c *onceClient) do(made *operation) {
	pursue(made, c.seen, c.random, mostTries, func(bool) tried { return c.try(made) })
}

func (c *onceClient) try(made *operation) tried {
	if c.process == nil {
		if err := c.start(); err != nil {
			c.seen.complain(err.Error())
			return noEffect
		}
	}
	var line, word string
	var stored int64
	_, err := fmt.Fprintf(c.input, "%s %d\n", made.text(), made.value)
	if err == nil {
		// Half a line is no answer.
		line, err = c.answers.ReadString('\n')
	}
	if err != nil {
		c.close()
		c.lost.Add(1)
		return inDoubt
	}
	if _, err = fmt.Sscanln(line, &word, &stored); err != nil {
		// It is "unknown", which no call here can get.
		c.seen.complain(fmt.Sprintf("key %d: once() answers %q", made.key, line))
		return inDoubt
	}
	switch word {
	case "late":
		return made.refused(late, c.seen.now())
	case "conflict":
		return made.refused(conflict, c.seen.now())
	}
	made.answered(stored, c.seen.now())
	if word == "fresh" {
		// It says that this call was the first, whatever value it names.
		made.outcome = fresh
	}
	return decided
}

func (c *onceClient) start() (err error) {
	c.process = exec.Command(c.command[0], c.command[1:]...)
	c.process.Stderr = os.Stderr
	if c.input, err = c.process.StdinPipe(); err != nil {
		return err
	}
	output, err := c.process.StdoutPipe()
	if err != nil {
		return err
	}
	c.answers = bufio.NewReader(output)
	if err = c.process.Start(); err == nil {
		c.running.Store(c.process.Process)
	}
	return err
}

func (c *onceClient) close() {
	if c.process == nil {
		return
	}
	c.running.Store(nil)
	c.process.Process.Kill()
	c.process.Wait()
	c.process = nil
}

// killOnce kills at each word one of the processes by SIGKILL, or the session of one.
func killOnce(stop, now <-chan struct{}, config *pgx.ConnConfig, clients []*onceClient,
	kills *atomic.Int64) {
	repeat(stop, config, func(conn *pgx.Conn) error {
		select {
		case <-stop:
			return nil
		case <-now:
		}
		time.Sleep(rand.N(time.Millisecond))
		kills.Add(1)
		if rand.IntN(2) == 0 {
			if running := clients[rand.IntN(len(clients))].running.Load(); running != nil {
				running.Kill()
			}
			return nil
		}
		_, err := conn.Exec(context.Background(), `SELECT pg_terminate_backend(
			(SELECT pid FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'judge-once' ORDER BY random() LIMIT 1))`)
		return err
	})
}

func runOnce(program, dsn string, operations int, seed uint64) (*target, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	made := &target{name: "once()", operations: operations, seen: newHistory(),
		effects: "linearizable.once_effects"}
	ledger := fmt.Sprintf("judge/once-%d", time.Now().UnixMicro())
	named := fmt.Sprintf("host=%s port=%d user=%s dbname=%s password='%s' application_name=judge-once",
		config.Host, config.Port, config.User, config.Database, config.Password)
	var kills, lost atomic.Int64
	own := make([]*onceClient, onceClients)
	clients := make([]client, onceClients)
	for place := range own {
		own[place] = &onceClient{
			command: []string{program, named, ledger, "judge", "once", made.effects},
			seen:    made.seen, random: rand.New(rand.NewPCG(seed, uint64(place))), lost: &lost}
		clients[place] = own[place]
	}
	// The first of them registers the ledger, which is rotated from then on.
	if err := own[0].start(); err != nil {
		return nil, err
	}
	first := operation{key: lastKey.Add(1), value: values.Add(1), call: made.seen.now()}
	own[0].do(&first)
	made.seen.add([]operation{first})
	keys := newKeyring(operations-1, oncePace, seed)
	turns := rotator{ledger: ledger}
	end := together(
		func(stop <-chan struct{}) { killOnce(stop, keys.kill, config, own, &kills) },
		func(stop <-chan struct{}) { turns.run(stop, keys.rotate, config) })
	begin := time.Now()
	drive(clients, keys, made.seen)
	made.elapsed = time.Since(begin)
	end()
	for _, one := range own {
		one.close()
	}
	made.kills, made.cuts, made.rotations = kills.Load(), lost.Load(), turns.rotations.Load()
	return made, nil
}
