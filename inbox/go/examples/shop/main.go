// Shop shows the three ways to use an inbox: a function in a transaction, a call to another system,
// and HTTP requests.
//
//	ONCEWARD_DSN='host=127.0.0.1 dbname=shop' go run ./examples/shop
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	inbox "github.com/onceward/onceward/inbox/go"
)

var (
	payments = inbox.New(inbox.Options{Operation: "pay", Ledger: "go_payments"})
	charges  = inbox.New(inbox.Options{Operation: "charge", Ledger: "go_charges"})
	orders   = inbox.New(inbox.Options{Operation: "POST /orders", Ledger: "go_payments"})
)

type receipt struct {
	ID     int64 `json:"id"`
	Amount int64 `json:"amount"`
}

// pay inserts a payment once for each order.
func pay(ctx context.Context, db *pgxpool.Pool, order string, amount int64) (receipt, error) {
	options := inbox.OnceOptions{Fingerprint: inbox.FingerprintOf(fmt.Sprint(amount))}
	return inbox.Once(ctx, db, payments, order, options,
		func(ctx context.Context, tx pgx.Tx) (receipt, error) {
			made := receipt{Amount: amount}
			err := tx.QueryRow(ctx, "INSERT INTO go_payments (order_id, amount) VALUES ($1, $2) "+
				"RETURNING id", order, amount).Scan(&made.ID)
			return made, err
		})
}

// charge calls the card's bank once for each order.
func charge(ctx context.Context, db *pgxpool.Pool, order string) (string, error) {
	return inbox.OnceOutside(ctx, db, charges, order, inbox.OutsideOptions{},
		func(_ context.Context, downstreamKey inbox.UUID) (string, error) {
			fmt.Println("  the bank is called with Idempotency-Key", downstreamKey)
			return "charge of " + order, nil
		})
}

// placeOrder is a handler of HTTP requests.
func placeOrder(w http.ResponseWriter, r *http.Request) {
	var order struct{ Amount int64 }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, "the body is not an order", http.StatusBadRequest)
		return
	}
	var made receipt
	err := inbox.Tx(r.Context()).QueryRow(r.Context(), "INSERT INTO go_payments (order_id, amount) "+
		"VALUES ('by HTTP', $1) RETURNING id, amount", order.Amount).Scan(&made.ID, &made.Amount)
	if err != nil {
		http.Error(w, "the order was not placed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(made)
}

func main() {
	ctx := context.Background()
	db, err := pgxpool.New(ctx, os.Getenv("ONCEWARD_DSN"))
	check(err)
	defer db.Close()
	_, err = db.Exec(ctx, `SELECT onceward.register_ledger('go_payments'),
			onceward.register_ledger('go_charges', 'lease');
		CREATE TABLE IF NOT EXISTS go_payments (id bigint GENERATED ALWAYS AS IDENTITY,
			order_id text NOT NULL, amount bigint NOT NULL)`)
	check(err)

	order := inbox.NewUUID7().String()
	for range 2 { // the second call returns what the first one stored
		made, err := pay(ctx, db, order, 1999)
		check(err)
		fmt.Printf("payment %d of %d\n", made.ID, made.Amount)
	}
	for range 2 {
		made, err := charge(ctx, db, order)
		check(err)
		fmt.Println(made)
	}
	handler := inbox.Handler(db, inbox.HandlerOptions{Inbox: orders})(http.HandlerFunc(placeOrder))
	server := httptest.NewServer(handler)
	defer server.Close()
	for range 2 {
		request, err := http.NewRequest("POST", server.URL+"/orders",
			strings.NewReader(`{"amount": 5}`))
		check(err)
		request.Header.Set("Idempotency-Key", order)
		response, err := http.DefaultClient.Do(request)
		check(err)
		body, err := io.ReadAll(response.Body)
		check(err)
		check(response.Body.Close())
		fmt.Printf("%d replayed=%q %s", response.StatusCode,
			response.Header.Get("Idempotent-Replayed"), body)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
