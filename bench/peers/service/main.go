// A service as people write it by hand: net/http and a pool of pgx, an order's idempotency key and
// its row in one INSERT .. ON CONFLICT. `make bench-door` compares `onceward serve` with it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
)

const insert = `INSERT INTO hand_orders (key, number, amount) VALUES ($1, $2, $3::text::numeric)
	ON CONFLICT (key) DO NOTHING`

type order struct {
	Number string      `json:"number"`
	Amount json.Number `json:"amount"`
}

type service struct{ pool *pgxpool.Pool }

func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		http.Error(w, "the header Idempotency-Key is missing", http.StatusBadRequest)
		return
	}
	var one order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&one); err != nil {
		http.Error(w, "the body is not an order", http.StatusUnprocessableEntity)
		return
	}
	tag, err := s.pool.Exec(r.Context(), insert, key, one.Number, one.Amount.String())
	if err != nil {
		http.Error(w, "not stored", http.StatusServiceUnavailable)
		return
	}
	if tag.RowsAffected() == 0 {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := pgxpool.ParseConfig(os.Getenv("PEER_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: os.Getenv("PEER_LISTEN"), Handler: service{pool}}
	go func() { <-ctx.Done(); _ = server.Shutdown(context.Background()) }()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
