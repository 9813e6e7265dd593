package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

type effect struct{ rows, value int64 }

// count compares the rows of effects with the answers, without a model: a key with an answer has
// exactly one row, and it has the value of the answers; any other key has one at most. Answers
// with the number of rows, and with what does not hold.
func count(ctx context.Context, dsn string, of *target) (rows int64, wrong []string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close(ctx)
	if err := settled(ctx, conn); err != nil {
		return 0, nil, err
	}
	found, err := conn.Query(ctx,
		"SELECT key, count(*), min(value) FROM "+of.effects+" GROUP BY key")
	if err != nil {
		return 0, nil, err
	}
	effects := map[int64]effect{}
	var key int64
	var one effect
	_, err = pgx.ForEachRow(found, []any{&key, &one.rows, &one.value}, func() error {
		effects[key] = one
		rows += one.rows
		if one.rows > 1 {
			wrong = append(wrong, fmt.Sprintf("key %d: %d effects", key, one.rows))
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	return rows, append(wrong, compare(of.seen.operations, effects)...), nil
}

func compare(operations []operation, effects map[int64]effect) (wrong []string) {
	tries := map[int64]map[int64]bool{}
	for _, one := range operations {
		if tries[one.key] == nil {
			tries[one.key] = map[int64]bool{}
		}
		// A value that certainly had no effect is one that may not be there.
		tries[one.key][one.value] = one.outcome < none
		if one.outcome != fresh && one.outcome != duplicate {
			continue
		}
		if known, there := effects[one.key]; !there {
			wrong = append(wrong, fmt.Sprintf("key %d: answered, and has no effect", one.key))
		} else if known.value != one.stored {
			wrong = append(wrong, fmt.Sprintf("key %d: the answer is %d, the effect is of %d",
				one.key, one.stored, known.value))
		}
	}
	for key, known := range effects {
		if !tries[key][known.value] {
			wrong = append(wrong, fmt.Sprintf("key %d: an effect of %d, which nobody wrote", key,
				known.value))
		}
	}
	return wrong
}

// settled waits until no other session of the database works: a COMMIT may still be under way,
// although its client is gone.
func settled(ctx context.Context, conn *pgx.Conn) error {
	for range 300 {
		var busy int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND backend_type = 'client backend'`).Scan(&busy)
		if err != nil || busy == 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("sessions of the database do not end")
}
