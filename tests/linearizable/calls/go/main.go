// As ../once.cc, with the inbox's Go package: DSN LEDGER OPERATION KIND TABLE
// [RETENTION MINTED].
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

type effect struct {
	Value int64 `json:"value"`
}

func main() {
	if len(os.Args) != 6 && len(os.Args) != 8 {
		log.Fatal("DSN LEDGER OPERATION KIND TABLE [RETENTION MINTED]")
	}
	minted := len(os.Args) == 8 && os.Args[7] == "uuid7"
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	in := inbox.New(inbox.Options{Operation: os.Args[3], Kind: os.Args[4], Ledger: os.Args[2]})
	insert := "INSERT INTO " + os.Args[5] + " VALUES ($1, $2)"
	for {
		var key string
		var value int64
		if _, err := fmt.Scanln(&key, &value); err != nil {
			return
		}
		var options inbox.OnceOptions
		if minted {
			options.MintedAt, _ = inbox.MintedAtOfUUID7(key)
		}
		stored, err := inbox.Once(ctx, pool, in, key, options,
			func(ctx context.Context, tx pgx.Tx) (effect, error) {
				// By the simple protocol PostgreSQL decides what the key is: a number or a UUID.
				_, err := tx.Exec(ctx, insert, pgx.QueryExecModeSimpleProtocol, key, value)
				return effect{value}, err
			})
		if errors.Is(err, inbox.ErrExpired) {
			fmt.Println("late 0")
			continue
		} else if errors.Is(err, inbox.ErrConflict) {
			fmt.Println("conflict 0")
			continue
		} else if err != nil {
			log.Fatal(err)
		}
		// No two calls have the same value.
		word := "duplicate"
		if stored.Value == value {
			word = "fresh"
		}
		fmt.Println(word, stored.Value)
	}
}
