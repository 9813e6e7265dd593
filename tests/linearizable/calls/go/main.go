// As ../once.cc, with the inbox's Go package: DSN LEDGER OPERATION KIND TABLE.
package main

import (
	"context"
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
	if len(os.Args) != 6 {
		log.Fatal("DSN LEDGER OPERATION KIND TABLE")
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	in := inbox.New(inbox.Options{Operation: os.Args[3], Kind: os.Args[4], Ledger: os.Args[2]})
	insert := "INSERT INTO " + os.Args[5] + " VALUES ($1, $2)"
	for {
		var key, value int64
		if _, err := fmt.Scanln(&key, &value); err != nil {
			return
		}
		stored, err := inbox.Once(ctx, pool, in, fmt.Sprint(key), inbox.OnceOptions{},
			func(ctx context.Context, tx pgx.Tx) (effect, error) {
				_, err := tx.Exec(ctx, insert, key, value)
				return effect{value}, err
			})
		if err != nil {
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
