package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model: each key is a register that is written once. The write is "this operation's effect
// took place". It is written from that sentence alone and shares no code with Onceward.

const unwritten = int64(0)

type asked struct{ key, value int64 }

type answer struct {
	outcome outcome
	stored  int64
}

func step(state, input, output any) (bool, any) {
	written := state.(int64)
	value := input.(asked).value
	switch got := output.(answer); got.outcome {
	case fresh:
		return written == unwritten && got.stored == value, value
	case duplicate:
		return written != unwritten && got.stored == written, written
	default:
		// It writes if nothing is written. Its return is the end of time, so "it never took
		// effect" is the same as "it took effect after everything that anybody saw".
		if written == unwritten {
			return true, value
		}
		return true, written
	}
}

var register = porcupine.Model{
	Partition: byKey,
	Init:      func() any { return unwritten },
	Step:      step,
	Equal:     func(one, other any) bool { return one.(int64) == other.(int64) },
	Hash:      func(state any) uint64 { return uint64(state.(int64)) },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%d -> %v", input.(asked).value, output.(answer))
	},
}

func byKey(all []porcupine.Operation) [][]porcupine.Operation {
	place := map[int64]int{}
	var parts [][]porcupine.Operation
	for _, one := range all {
		key := one.Input.(asked).key
		at, known := place[key]
		if !known {
			at = len(parts)
			place[key] = at
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], one)
	}
	return parts
}

// events leaves out what certainly had no effect. If such an operation did write, its value comes
// back as one that nobody wrote, and the history is refused.
func events(operations []operation) []porcupine.Operation {
	made := make([]porcupine.Operation, 0, len(operations))
	for _, one := range operations {
		if one.outcome >= none {
			continue
		}
		end := one.ret
		if one.outcome == unknown {
			end = math.MaxInt64
		}
		made = append(made, porcupine.Operation{
			ClientId: one.client,
			Input:    asked{one.key, one.value},
			Call:     one.call,
			Output:   answer{one.outcome, one.stored},
			Return:   end,
		})
	}
	return made
}

type verdict struct {
	accepted bool
	// The keys whose histories are refused, or could not be decided in time.
	refused []int64
	elapsed time.Duration
}

const judgeWithin = 10 * time.Minute

func judge(operations []operation) verdict {
	begin := time.Now()
	all := events(operations)
	result := verdict{accepted: true}
	if porcupine.CheckOperationsTimeout(register, all, judgeWithin) != porcupine.Ok {
		result.accepted = false
		for _, part := range byKey(all) {
			if porcupine.CheckOperationsTimeout(register, part, time.Minute) != porcupine.Ok {
				result.refused = append(result.refused, part[0].Input.(asked).key)
			}
		}
		slices.Sort(result.refused)
	}
	result.elapsed = time.Since(begin)
	return result
}

// story tells what happened to a key, in the order of the calls.
func story(operations []operation, key int64) []string {
	var own []operation
	for _, one := range operations {
		if one.key == key {
			own = append(own, one)
		}
	}
	slices.SortFunc(own, func(a, b operation) int { return int(a.call - b.call) })
	names := []string{"unknown", "fresh", "duplicate", "none"}
	var lines []string
	for _, one := range own {
		end := "-"
		if one.outcome != unknown {
			end = fmt.Sprintf("%.3f", float64(one.ret)/1e6)
		}
		lines = append(lines, fmt.Sprintf("%.3f to %s ms: client %d, value %d: %s %d",
			float64(one.call)/1e6, end, one.client, one.value, names[one.outcome], one.stored))
	}
	return lines
}
