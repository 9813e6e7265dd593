package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// neverTwice judges a run with keys that say when they were minted. Then it has to find what is
// wrong with the same run without that, and with mutants.
func neverTwice(ctx context.Context, given options) (good bool, err error) {
	good, err = lateReport(ctx, given, given.late, "uuid7")
	if err != nil || !good {
		return false, err
	}
	if given.mutantDsn == "" {
		fmt.Println("no mutant was tried")
		return true, nil
	}
	broken := given
	broken.dsn, broken.folder = given.mutantDsn, filepath.Join(given.folder, "control")
	broken.retention = min(given.retention, 4)
	broken.seconds = int(lateRequest/time.Second) + broken.retention + 44
	if err = os.Mkdir(broken.folder, 0o755); err != nil {
		return false, err
	}
	if err = makeEffects(ctx, broken.dsn); err != nil {
		return false, err
	}
	fmt.Println("mutant: late keys are accepted")
	good, err = lateReport(ctx, broken, max(40, given.late/5), "none")
	if err != nil {
		return false, err
	}
	refused, err := refuseMutants(ctx, given)
	return good && refused, err
}

// effectsOf counts the effects, and by client those beyond each key's first one.
type effectsOf struct {
	rows, keys, twice, waiting int
	again                      map[int]int
}

func (l *lateRun) effects(ctx context.Context) (found effectsOf, err error) {
	conn, err := pgx.Connect(ctx, l.given.dsn)
	if err != nil {
		return found, err
	}
	defer conn.Close(ctx)
	client := map[int64]int{}
	for _, one := range l.seen.operations {
		client[one.value] = one.client
	}
	rows, err := conn.Query(ctx,
		"SELECT array_agg(value ORDER BY value) FROM "+lateEffects+" GROUP BY key")
	found.again = map[int]int{}
	var made []int64
	_, err = pgx.ForEachRow(rows, []any{&made}, func() error {
		found.keys++
		found.rows += len(made)
		if len(made) > 1 {
			found.twice++
		}
		for _, value := range made[1:] {
			found.again[client[value]]++
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	// A redriven copy that was late again: the operator sends a key again only once.
	err = conn.QueryRow(ctx, "SELECT count(DISTINCT d.key_text) FROM onceward.dead_letters d "+
		"WHERE d.error_class = 'late_key' AND d.resolved_at IS NULL AND NOT EXISTS (SELECT FROM "+
		lateEffects+" e WHERE e.key::text = convert_from(d.key_text, 'UTF8'))").Scan(&found.waiting)
	return found, err
}

// lateReport runs and judges one run, and prints its table. Without times of minting each program
// has to be found to apply keys again.
func lateReport(ctx context.Context, given options, keys int, minted string) (bool, error) {
	l, err := newLateRun(ctx, given, keys, minted)
	if err != nil {
		return false, err
	}
	if err = l.run(ctx, keys); err != nil {
		return false, err
	}
	_, wrong, err := count(ctx, given.dsn, l.target)
	if err != nil {
		return false, err
	}
	found, err := l.effects(ctx)
	if err != nil {
		return false, err
	}
	said, err := passed(ctx, given.dsn)
	if err != nil {
		return false, err
	}
	purges, err := l.purges(ctx)
	if err != nil {
		return false, err
	}
	sound := len(l.seen.complaints) == 0
	fmt.Printf("%-8s %7s %7s %10s %6s %9s %8s %6s %14s\n", "program", "calls", "fresh", "duplicate",
		"late", "conflict", "unknown", "kills", "applied again")
	for number, one := range l.racers {
		counts, _ := tally(one.done)
		again := found.again[number]
		fmt.Printf("%-8s %7d %7d %10d %6d %9d %8d %6d %14d\n", one.name, len(one.done),
			counts[fresh], counts[duplicate], counts[late], counts[conflict], counts[unknown],
			one.kills.Load(), again)
		sound = sound && l.shows(one.name, one.kills.Load(), int64(counts[late]), again)
	}
	again := found.again[len(l.racers)]
	fmt.Printf("%-8s %7d %7d %10d %6d %9d %8d %6d %14d\n", "worker", len(l.worker.done),
		said.applied, said.duplicates, said.late, said.others-said.late, 0,
		l.worker.kills.Load(), again)
	sound = sound && l.shows("worker", l.worker.kills.Load(), said.late, again)
	result := judge(l.seen.operations)
	early := l.refusedInTime()
	fmt.Printf("%d keys, %d effects; %d applied twice, %d wait as dead letters, %d lost, "+
		"%d refused in time; %d generations sealed by expire(), %d purged; %d rewinds, "+
		"%d late letters redriven, %d discarded; %.0f s; Porcupine: %d keys refused\n",
		keys, found.rows, found.twice, found.waiting, keys-found.keys-found.waiting, len(early),
		l.rotations, purges, l.letters.rewinds, l.letters.redriven, l.letters.discarded,
		l.elapsed.Seconds(), len(result.refused))
	first(l.seen.complaints, 5)
	sound = sound && found.keys+found.waiting == keys && purges > 0 && l.letters.rewinds > 0
	if minted == "none" {
		return sound && found.twice > 0 && len(wrong) > 0 && !result.accepted, nil
	}
	first(wrong, 20)
	first(early, 5)
	return sound && found.twice == 0 && len(wrong) == 0 && len(early) == 0 && result.accepted &&
		l.letters.redriven > 0, nil
}

// shows says whether a program's part shows anything: it was killed, and late keys were refused, or
// taken if they do not say when they were minted.
func (l *lateRun) shows(name string, kills, late int64, again int) bool {
	if kills > 0 && (l.minted == "none" || late > 0) && (l.minted != "none" || again > 0) {
		return true
	}
	fmt.Println("  " + name + " was not killed, or no key came to it late: this run shows nothing")
	return false
}

// refusedInTime are the answers that a key is late which came while it had to be known.
func (l *lateRun) refusedInTime() (wrong []string) {
	for _, one := range l.seen.operations {
		since := time.Duration(one.ret) - l.keys[one.key-1].minted
		if one.outcome == late && since < l.retention*3/4 {
			wrong = append(wrong, fmt.Sprintf("key %d: refused as late %v after it was minted",
				one.key, since))
		}
	}
	return wrong
}

// purges is how many generations are no longer listed.
func (l *lateRun) purges(ctx context.Context) (gone int64, err error) {
	conn, err := pgx.Connect(ctx, l.given.dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT max(generation) - count(*) FROM onceward.generations
		JOIN onceward.ledgers USING (ledger) WHERE name = $1`, lateLedger).Scan(&gone)
	return gone, err
}
