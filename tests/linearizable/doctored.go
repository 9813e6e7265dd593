package main

import (
	"fmt"
	"slices"
)

// doctored is a real history with one change that no correct system could have made. A judge that
// accepts everything would accept it.
type doctored struct {
	name string
	// Changes the operations of one key, which are sorted by their calls. Answers with false if
	// the key has not what the change needs.
	change func([]operation) bool
}

var forgeries = []doctored{
	{"a second fresh for a key", func(all []operation) bool {
		at := find(all, duplicate)
		if at < 0 {
			return false
		}
		all[at].outcome, all[at].stored = fresh, all[at].value
		return true
	}},
	{"a duplicate with another value", func(all []operation) bool {
		at := find(all, duplicate)
		if at < 1 {
			return false
		}
		for _, other := range all[:at] {
			if other.value != all[at].stored {
				all[at].stored = other.value
				return true
			}
		}
		return false
	}},
	{"a duplicate before any write", func(all []operation) bool {
		at := find(all, duplicate)
		if at < 0 {
			return false
		}
		all[at].call, all[at].ret = all[0].call-2, all[0].call-1
		return true
	}},
	{"a fresh after a duplicate returned", freshTooLate},
	{"a stored value that nobody wrote", func(all []operation) bool {
		if !forgetWriter(all) {
			return false
		}
		for at := range all {
			if all[at].outcome == duplicate {
				all[at].stored = values.Load() + 1
			}
		}
		return true
	}},
	{"a late change of the value", lateChange},
}

// freshTooLate forgets the answer of who wrote, and lets a client be fresh that began when another
// one had its duplicate already.
func freshTooLate(all []operation) bool {
	at := find(all, duplicate)
	if at < 0 || !forgetWriter(all) {
		return false
	}
	for later := range all {
		if all[later].outcome == duplicate && all[later].call > all[at].ret {
			all[later].outcome, all[later].stored = fresh, all[later].value
			return true
		}
	}
	return false
}

// lateChange forgets two writers' answers: the first duplicates have the value of one, the last
// ones that of the other, as after a claim that was lost.
func lateChange(all []operation) bool {
	at := find(all, duplicate)
	if at < 0 || !forgetWriter(all) {
		return false
	}
	second := all[at].value
	all[at].outcome = unknown
	changed, kept := 0, 0
	for later := range all {
		if all[later].outcome == duplicate && all[later].call > all[len(all)/2].call {
			all[later].stored = second
			changed++
		} else if all[later].outcome == duplicate {
			kept++
		}
	}
	return changed > 1 && kept > 1
}

func find(all []operation, wanted outcome) int {
	return slices.IndexFunc(all, func(one operation) bool { return one.outcome == wanted })
}

// forgetWriter loses the answer of the operation that wrote. False if none has one.
func forgetWriter(all []operation) bool {
	at := find(all, fresh)
	if at < 0 {
		return false
	}
	all[at].outcome = unknown
	return true
}

// To refuse a key, the judge has to try all orders of what ran at the same time: twice as many for
// each operation more. Real keys with many are accepted at once, and are not made for forgeries.
const mostAtOnce = 12

// atOnce answers with the largest number of operations that ran at the same time.
func atOnce(all []operation) (most int) {
	for _, one := range all {
		running := 0
		for _, other := range all {
			if other.call <= one.call && (other.outcome == unknown || one.call <= other.ret) {
				running++
			}
		}
		most = max(most, running)
	}
	return most
}

// forge answers with the history changed in one key, the first one that has what it needs.
func forge(real []operation, how doctored) ([]operation, int64, error) {
	keys := map[int64][]int{}
	var order []int64
	for at, one := range real {
		if keys[one.key] == nil {
			order = append(order, one.key)
		}
		keys[one.key] = append(keys[one.key], at)
	}
	for _, key := range order {
		places := keys[key]
		slices.SortFunc(places, func(a, b int) int { return int(real[a].call - real[b].call) })
		own := make([]operation, len(places))
		for at, place := range places {
			own[at] = real[place]
		}
		if atOnce(own) > mostAtOnce || !how.change(own) || atOnce(own) > mostAtOnce {
			continue
		}
		changed := slices.Clone(real)
		for at, place := range places {
			changed[place] = own[at]
		}
		return changed, key, nil
	}
	return nil, 0, fmt.Errorf("no key of the history fits %q", how.name)
}
