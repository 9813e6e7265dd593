package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// How often a request is sent again while nobody listens or its key is in flight.
	mostSends = 200
	// How many requests of a thousand are given up at any moment.
	givenUp = 10
)

// routeClient sends requests with a key and a value to processes of `onceward serve`.
type routeClient struct {
	http   *http.Client
	doors  []string
	seen   *history
	random *rand.Rand
	lost   *atomic.Int64
}

func newRouteClient(doors []string, seen *history, seed uint64, lost *atomic.Int64) *routeClient {
	return &routeClient{http: &http.Client{Transport: &http.Transport{}}, doors: doors, seen: seen,
		random: rand.New(rand.NewPCG(seed, 7)), lost: lost}
}

func (c *routeClient) close() { c.http.CloseIdleConnections() }

func (c *routeClient) do(made *operation) {
	pursue(made, c.seen, c.random, mostSends, func(bool) tried {
		result := c.try(made)
		if result == noEffect {
			time.Sleep(5 * time.Millisecond)
		}
		return result
	})
}

func (c *routeClient) try(made *operation) tried {
	within := 10 * time.Second
	if c.random.IntN(1000) < givenUp {
		within = time.Duration(c.random.IntN(3000)) * time.Microsecond
	}
	limit, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	body := bytes.NewReader(fmt.Appendf(nil, `{"value": %d}`, made.value))
	request, err := http.NewRequestWithContext(limit, http.MethodPost,
		c.doors[c.random.IntN(len(c.doors))]+"/effects", body)
	if err != nil {
		panic(err)
	}
	// Else the transport sends a request with an idempotency key again by itself.
	request.GetBody = nil
	request.Header.Set("Idempotency-Key", made.text())
	response, err := c.http.Do(request)
	if err != nil {
		// Nobody listens: nothing was sent.
		var opened *net.OpError
		if errors.As(err, &opened) && opened.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED) {
			return noEffect
		}
		c.lost.Add(1)
		return inDoubt
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.lost.Add(1)
		return inDoubt
	}
	return c.read(made, response, text)
}

func (c *routeClient) read(made *operation, response *http.Response, text []byte) tried {
	switch response.StatusCode {
	case http.StatusOK:
		var stored struct{ Value int64 }
		if err := json.Unmarshal(text, &stored); err != nil {
			c.seen.complain(fmt.Sprintf("key %d: the answer is %q", made.key, text))
		}
		made.answered(stored.Value, c.seen.now())
		if response.Header.Get("Idempotent-Replayed") == "" && stored.Value != made.value {
			// It says that this request was the first, with another one's value.
			made.outcome = fresh
		}
		return decided
	case http.StatusPreconditionFailed:
		return made.refused(late, c.seen.now())
	case http.StatusUnprocessableEntity:
		return made.refused(conflict, c.seen.now())
	case http.StatusConflict, http.StatusInternalServerError, http.StatusServiceUnavailable:
		return inDoubt
	}
	c.seen.complain(fmt.Sprintf("key %d: status %d, %s", made.key, response.StatusCode, text))
	return inDoubt
}
