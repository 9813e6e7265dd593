package main

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// outcome is what a client knows of an operation when it ends.
type outcome int

const (
	// The answer was lost: the operation takes effect at any later time, or never.
	unknown outcome = iota
	// The client's value is written.
	fresh
	// Another value was written before, and is the answer.
	duplicate
	// The operation certainly had no effect: no COMMIT was sent, or PostgreSQL refused it.
	none
	// Refused, because the key is older than what the ledger remembers.
	late
	// Refused, because the key was used with another time.
	conflict
	outcomes = 6
)

// operation is one claim-and-finish of a key. No two operations have the same value.
type operation struct {
	client  int
	key     int64
	name    string // the key's text, if that is not its number
	value   int64
	call    int64
	ret     int64
	outcome outcome
	// The value that the answer names as stored.
	stored int64
}

// history collects the operations of all clients of a target. Times are nanoseconds of the
// monotonic clock of this process, so that they can be compared between clients.
type history struct {
	start time.Time
	mutex sync.Mutex
	// What no client may ever see, whatever the order of operations: an unexpected status, an
	// answer that contradicts itself.
	complaints []string
	operations []operation
}

func newHistory() *history { return &history{start: time.Now()} }

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) add(done []operation) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.operations = append(h.operations, done...)
}

func (h *history) complain(text string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.complaints = append(h.complaints, text)
}

func (o *operation) text() string {
	if o.name != "" {
		return o.name
	}
	return strconv.FormatInt(o.key, 10)
}

// refused ends an operation that is late, or a conflict.
func (o *operation) refused(how outcome, now int64) tried {
	o.outcome, o.ret = how, now
	return decided
}

// answered ends an operation with the value that is stored. Its own value means that it wrote it,
// perhaps by an earlier try whose answer was lost.
func (o *operation) answered(stored, now int64) {
	o.stored = stored
	o.ret = now
	o.outcome = duplicate
	if stored == o.value {
		o.outcome = fresh
	}
}

// mostTries is how often an operation is tried with the same attempt.
const mostTries = 8

// tried is what came of one try of an operation.
type tried int

const (
	decided tried = iota
	noEffect
	inDoubt
)

// pursue tries an operation until it is decided, or so often. `try` learns whether an earlier try
// is in doubt.
func pursue(made *operation, seen *history, random *rand.Rand, tries int, try func(bool) tried) {
	doubt := false
	for range tries {
		switch try(doubt) {
		case decided:
			return
		case inDoubt:
			doubt = true
			// Half of the clients want to know, and ask with the same attempt.
			if random.IntN(2) == 0 {
				made.outcome, made.ret = unknown, seen.now()
				return
			}
		case noEffect:
		}
	}
	made.outcome, made.ret = none, seen.now()
	if doubt {
		made.outcome = unknown
	}
}

func tally(operations []operation) (counts [outcomes]int, keys int) {
	seen := map[int64]struct{}{}
	for _, one := range operations {
		counts[one.outcome]++
		seen[one.key] = struct{}{}
	}
	return counts, len(seen)
}
