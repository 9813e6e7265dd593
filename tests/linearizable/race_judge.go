package main

import (
	"context"
	"fmt"
)

// race judges a race by three judges that share nothing with Onceward: the count of effects in
// plain SQL, Porcupine, and what each program says of itself.
func race(ctx context.Context, given options) (good bool, err error) {
	made, racers, worker, err := runRace(ctx, given)
	if err != nil {
		return false, err
	}
	rows, wrong, err := count(ctx, given.dsn, made)
	if err != nil {
		return false, err
	}
	said, err := passed(ctx, given.dsn)
	if err != nil {
		return false, err
	}
	fmt.Printf("%-10s %8s %8s %10s %8s %8s\n", "program", "calls", "fresh", "duplicates", "in doubt",
		"kills")
	row := func(name string, calls int, first, again, lost, kills int64) {
		fmt.Printf("%-10s %8d %8d %10d %8d %8d\n", name, calls, first, again, lost, kills)
		if calls != given.race {
			wrong = append(wrong, name+" did not call all keys")
		}
		if kills == 0 {
			wrong = append(wrong, name+" was not killed: this run shows nothing")
		}
	}
	row("worker", len(worker.done), said.applied, said.duplicates, 0, worker.kills.Load())
	sum := said.applied
	for _, one := range racers {
		counts, _ := tally(one.done)
		row(one.name, len(one.done), int64(counts[fresh]), int64(counts[duplicate]),
			one.lost.Load(), one.kills.Load())
		sum += int64(counts[fresh])
		if counts[fresh]+counts[duplicate] != len(one.done) {
			wrong = append(wrong, one.name+" was refused")
		}
	}
	if rows != int64(given.race) {
		wrong = append(wrong, fmt.Sprintf("%d effects of %d keys", rows, given.race))
	}
	if sum != rows || said.others != 0 {
		wrong = append(wrong, fmt.Sprintf("%d answers are fresh, %d records are something else",
			sum, said.others))
	}
	result := judge(made.seen.operations)
	if !result.accepted {
		wrong = append(wrong, fmt.Sprintf("Porcupine refuses the keys %v", result.refused))
	}
	wrong = append(wrong, made.seen.complaints...)
	first(wrong, 20)
	fmt.Printf("%d keys, %d effects, %d answers, %d rotations, %.0f s; Porcupine: %d keys refused\n",
		given.race, rows, len(racers)*given.race, made.rotations, made.elapsed.Seconds(),
		len(result.refused))
	if len(wrong) > 0 {
		return false, nil
	}
	return refuseDoctored(ctx, given.dsn, made)
}

// refuseDoctored puts a second effect, and then another value, into the table: the count has to
// find each. Forged histories are refused as well.
func refuseDoctored(ctx context.Context, dsn string, made *target) (good bool, err error) {
	good = true
	for _, change := range []struct{ name, do, undo string }{
		{"a second effect of a key", "INSERT INTO %s VALUES (1, -1)",
			"DELETE FROM %s WHERE value = -1"},
		{"an effect that no answer names", "UPDATE %s SET value = -value WHERE key = 1",
			"UPDATE %s SET value = -value WHERE key = 1"},
		{"a lost effect", "UPDATE %s SET key = -1 WHERE key = 1",
			"UPDATE %s SET key = 1 WHERE key = -1"},
	} {
		if err = execute(ctx, dsn, fmt.Sprintf(change.do, raceEffects)); err != nil {
			return false, err
		}
		_, wrong, err := count(ctx, dsn, made)
		if err != nil {
			return false, err
		}
		if err = execute(ctx, dsn, fmt.Sprintf(change.undo, raceEffects)); err != nil {
			return false, err
		}
		word := "refused"
		if len(wrong) == 0 {
			word, good = "ACCEPTED", false
		}
		fmt.Printf("doctored: %-50s %s\n", change.name, word)
	}
	refused, err := refuseForgeries(made.seen.operations)
	return good && refused, err
}
