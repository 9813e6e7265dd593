package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// letters is what the operator did with dead letters of the class late_key.
type letters struct {
	redriven, discarded, rewinds int
	// Each key is redriven once at most: a second copy would be minted again.
	sent map[string]bool
}

// produce writes records of the keys to the topic, and lets the worker be killed.
func (l *lateRun) produce(sends []send) {
	batch := 0
	for len(sends) > 0 {
		l.wait(sends[0].at)
		time.Sleep(300 * time.Millisecond)
		var lines strings.Builder
		now := time.Duration(l.seen.now())
		for len(sends) > 0 && sends[0].at <= now {
			made := l.operation(len(l.racers), sends[0].key)
			l.worker.done = append(l.worker.done, made)
			fmt.Fprintf(&lines, "{\"key\": %q, \"value\": %d}\n", made.name, made.value)
			sends = sends[1:]
		}
		if batch++; batch%8 == 4 {
			time.AfterFunc(rand.N(600*time.Millisecond), func() { say(l.worker.now) })
		}
		if err := l.worker.send(lines.String()); err != nil {
			l.seen.complain(err.Error())
			return
		}
	}
}

// command runs a command of an operator, with the worker's configuration.
func (w *raceWorker) command(arguments ...string) ([]byte, error) {
	process := exec.Command(w.worker.command[0], append(arguments, "-c", w.configured)...)
	process.Env = append(os.Environ(), "ONCEWARD_JUDGE_DSN="+w.worker.dsn)
	output, err := process.Output()
	if err != nil {
		return nil, fmt.Errorf("onceward %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return output, nil
}

// operate is an operator at work: dead letters are dealt with, and the topic is read again from its
// beginning.
func (l *lateRun) operate(ctx context.Context, stop <-chan struct{}) {
	for turn := 1; ; turn++ {
		select {
		case <-stop:
			return
		case <-time.After(3 * time.Second):
		}
		if _, err := l.deal(ctx); err != nil {
			l.seen.complain(err.Error())
			return
		}
		if turn%8 != 7 {
			continue
		}
		if _, err := l.worker.command("offsets", "--topic", "late", "--set", "earliest", "--reason",
			"a rewind", "--may-repeat", "--yes"); err != nil {
			l.seen.complain(err.Error())
			return
		}
		l.letters.rewinds++
	}
}

// deal looks whether the message of a letter took effect. It is discarded then, and else redriven.
// Answers with how many were redriven.
func (l *lateRun) deal(ctx context.Context) (int, error) {
	conn, err := pgx.Connect(ctx, l.given.dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT d.dead_letter, d.key,
			EXISTS (SELECT FROM `+lateEffects+` e WHERE e.key = d.key::uuid)
		FROM (SELECT dead_letter, convert_from(payload, 'UTF8')::jsonb ->> 'key' AS key
			FROM onceward.dead_letters WHERE error_class = 'late_key' AND resolved_at IS NULL
			AND redriven_at IS NULL AND redrive_began_at IS NULL
			ORDER BY dead_letter LIMIT 500) AS d`)
	if err != nil {
		return 0, err
	}
	var number int64
	var key string
	var there bool
	var redrive, discard []string
	if l.letters.sent == nil {
		l.letters.sent = map[string]bool{}
	}
	_, err = pgx.ForEachRow(rows, []any{&number, &key, &there}, func() error {
		if there {
			discard = append(discard, fmt.Sprint(number))
		} else if !l.letters.sent[key] {
			l.letters.sent[key] = true
			redrive = append(redrive, fmt.Sprint(number))
		}
		return nil
	})
	if err == nil && len(discard) > 0 {
		_, err = l.worker.command(append([]string{"dlq", "discard", "--topic", "late", "--yes",
			"--class", "late_key", "--reason", "it took effect", "--number"}, discard...)...)
		l.letters.discarded += len(discard)
	}
	if err == nil && len(redrive) > 0 {
		_, err = l.worker.command(append([]string{"dlq", "redrive", "--topic", "late", "--yes",
			"--class", "late_key", "--number"}, redrive...)...)
		l.letters.redriven += len(redrive)
	}
	return len(redrive), err
}

// settle waits until the worker has read all, and no letter is left to be redriven.
func (l *lateRun) settle(ctx context.Context) {
	begin, quiet := time.Now(), 0
	for time.Since(begin) < 2*time.Minute {
		lag, err := l.lag()
		redriven := 0
		if err == nil && lag == 0 {
			redriven, err = l.deal(ctx)
		}
		if err != nil {
			l.seen.complain(err.Error())
			return
		}
		if quiet++; lag > 0 || redriven > 0 {
			quiet = 0
		}
		if quiet == 2 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	l.seen.complain("the worker has not passed all records:\n" + l.worker.worker.tail())
}

func (l *lateRun) lag() (sum int64, err error) {
	text, err := l.worker.command("offsets", "--topic", "late", "--json")
	if err != nil {
		return 0, err
	}
	var found struct {
		Fences []struct{ Lag *int64 }
	}
	if err = json.Unmarshal(text, &found); err != nil {
		return 0, err
	}
	for _, one := range found.Fences {
		if one.Lag == nil {
			return 1, nil // the broker did not answer
		}
		sum += *one.Lag
	}
	if len(found.Fences) == 0 {
		return 0, fmt.Errorf("no fences in %s", text)
	}
	return sum, nil
}
