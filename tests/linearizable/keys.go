package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

const (
	// How many operations a key gets. More would make the judge's work harder, fewer would let
	// fewer clients meet.
	operationsOfKey = 25
	// How many of them come at once, from several clients, when the key is new.
	firstOperations = 8
	// How many new keys there are at once: fewer than clients, so that clients meet, and more than
	// one, so that some are done and are back while another one's transaction is still open.
	newKeys = 4
	// How many keys wait for their later operations, which meet them in sealed generations.
	openKeys = 400
	// So many operations after the word for a rotation are of new keys: while generations change,
	// clients meet at keys that nobody has written.
	newAtRotation = 64
)

// values numbers all operations of the program, from 1 on.
var values atomic.Int64

// pace says how many operations there are from one fault to the next. Faults do not come by the
// clock, so that a slow machine has as many.
type pace struct{ kill, rotate int }

// keyring hands out the keys of one target's operations.
type keyring struct {
	mutex  sync.Mutex
	random *rand.Rand
	left   int
	newest [newKeys]openKey
	open   []openKey
	// Have a word when it is time for the next one.
	kill, rotate chan struct{}
	pace         pace
	// How many of the next operations are of new keys, however many keys are open.
	onlyNew int
}

type openKey struct {
	key  int64
	left int
}

var lastKey atomic.Int64

func newKeyring(operations int, pace pace, seed uint64) *keyring {
	return &keyring{random: rand.New(rand.NewPCG(seed, 1)), left: operations, pace: pace,
		kill: make(chan struct{}, 1), rotate: make(chan struct{}, 1)}
}

// next answers with the key of the next operation; 0 if all are done.
func (k *keyring) next() int64 {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.left == 0 {
		return 0
	}
	k.left--
	if k.left%k.pace.kill == 0 {
		say(k.kill)
	}
	if k.left%k.pace.rotate == 0 {
		say(k.rotate)
		k.onlyNew = newAtRotation
	}
	if k.onlyNew--; k.onlyNew < 0 && len(k.open) >= openKeys {
		at := k.random.IntN(len(k.open))
		chosen := &k.open[at]
		chosen.left--
		key := chosen.key
		if chosen.left == 0 {
			k.open[at] = k.open[len(k.open)-1]
			k.open = k.open[:len(k.open)-1]
		}
		return key
	}
	chosen := &k.newest[k.random.IntN(len(k.newest))]
	if chosen.left == 0 {
		*chosen = openKey{lastKey.Add(1), firstOperations}
	}
	chosen.left--
	if chosen.left == 0 {
		k.open = append(k.open, openKey{chosen.key, operationsOfKey - firstOperations})
	}
	return chosen.key
}

func say(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// client carries out one operation: it sets outcome, ret and stored.
type client interface {
	do(*operation)
	close()
}

// drive lets the clients carry out all operations of the keyring.
func drive(clients []client, keys *keyring, seen *history) {
	var group sync.WaitGroup
	for number, one := range clients {
		group.Go(func() {
			var done []operation
			for key := keys.next(); key != 0; key = keys.next() {
				made := operation{client: number, key: key, value: values.Add(1), call: seen.now()}
				one.do(&made)
				done = append(done, made)
			}
			seen.add(done)
		})
	}
	group.Wait()
}
