// Judges Onceward by Porcupine: concurrent clients claim and finish keys under kills, and the
// histories of what they saw are checked against a register that is written once. docs/inbox.md
// says what is promised, and ./run starts what this needs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

type options struct {
	operations, route, mutant int
	program, once             string
	dsn, mutantDsn            string
	folder                    string
	race, late                int
	seconds, retention        int
	calls, broker             string
	seed                      uint64
}

func main() {
	var given options
	flag.IntVar(&given.operations, "operations", 1000000, "of all targets")
	flag.IntVar(&given.route, "route", 10, "percent of them over HTTP, and as many by once()")
	flag.IntVar(&given.mutant, "mutant", 20000, "operations against each mutant")
	flag.StringVar(&given.program, "program", "build/release/onceward", "the program that serves")
	flag.StringVar(&given.once, "once", "build/release/tests/onceward-once-calls",
		"the program that calls once()")
	flag.StringVar(&given.dsn, "dsn", os.Getenv("ONCEWARD_TEST_DSN"), "a database with the schema")
	flag.StringVar(&given.mutantDsn, "mutant-dsn", os.Getenv("ONCEWARD_MUTANT_DSN"),
		"another one, whose functions may be broken")
	flag.IntVar(&given.race, "race", 0, "only race for so many keys, with all programs at once")
	flag.IntVar(&given.late, "late", 0, "only send so many keys again after their retention")
	flag.IntVar(&given.seconds, "seconds", 180, "for how long")
	flag.IntVar(&given.retention, "retention", 20, "seconds that claims are kept then")
	flag.StringVar(&given.calls, "calls", "", "the folder of programs that call once()")
	flag.StringVar(&given.broker, "broker", "scripts/kafka/run-broker", "starts a Kafka broker")
	flag.StringVar(&given.folder, "folder", "", "for configurations and logs")
	flag.Uint64Var(&given.seed, "seed", uint64(time.Now().UnixNano()), "of the draws")
	flag.Parse()
	fmt.Printf("seed %d\n", given.seed)
	good, err := run(context.Background(), given)
	if err != nil {
		fmt.Fprintln(os.Stderr, "linearizable:", err)
		os.Exit(1)
	}
	if !good {
		fmt.Println("FAILED")
		os.Exit(1)
	}
	fmt.Println("passed")
}

func run(ctx context.Context, given options) (good bool, err error) {
	if err := makeEffects(ctx, given.dsn); err != nil {
		return false, err
	}
	if given.race > 0 {
		return race(ctx, given)
	}
	if given.late > 0 {
		return neverTwice(ctx, given)
	}
	targets, err := runTargets(ctx, given)
	if err != nil {
		return false, err
	}
	good = true
	fmt.Printf("%-6s %10s %7s %10s %8s %5s %6s %6s %10s %7s %8s %7s %7s  %s\n", "target",
		"operations", "fresh", "duplicates", "unknown", "none", "kills", "cuts", "rotations", "keys",
		"effects", "time s", "judge s", "verdict")
	for _, one := range targets {
		accepted, err := report(ctx, given.dsn, one)
		if err != nil {
			return false, err
		}
		good = good && accepted
	}
	if good {
		good, err = refuseForgeries(targets[0].seen.operations)
		if err != nil {
			return false, err
		}
	}
	if given.mutantDsn == "" || given.mutant == 0 {
		fmt.Println("no mutant was tried")
		return good, nil
	}
	refused, err := refuseMutants(ctx, given)
	return good && refused, err
}

func runTargets(ctx context.Context, given options) ([]*target, error) {
	part := given.operations * given.route / 100
	inbox, err := runInbox(ctx, given.dsn, given.operations-2*part, inboxPace, given.seed, false)
	if err != nil || part == 0 {
		return []*target{inbox}, err
	}
	route, err := runRoute(ctx, given.program, given.folder, given.dsn, part, given.seed)
	if err != nil {
		return nil, err
	}
	once, err := runOnce(given.once, given.dsn, part, given.seed)
	return []*target{inbox, route, once}, err
}

// report judges a target and prints its row.
func report(ctx context.Context, dsn string, of *target) (bool, error) {
	rows, wrong, err := count(ctx, dsn, of)
	if err != nil {
		return false, err
	}
	result := judge(of.seen.operations)
	counts, keys := tally(of.seen.operations)
	word := "accepted"
	if !result.accepted {
		word = fmt.Sprintf("REFUSED, %d keys", len(result.refused))
	}
	fmt.Printf("%-6s %10d %7d %10d %8d %5d %6d %6d %10d %7d %8d %7.1f %7.1f  %s\n", of.name,
		len(of.seen.operations), counts[fresh], counts[duplicate], counts[unknown], counts[none],
		of.kills, of.cuts, of.rotations, keys, rows, of.elapsed.Seconds(), result.elapsed.Seconds(),
		word)
	first(wrong, 5)
	first(of.seen.complaints, 5)
	for at, key := range result.refused {
		if at == 2 {
			break
		}
		fmt.Printf("  key %d\n", key)
		first(story(of.seen.operations, key), operationsOfKey+1)
	}
	// A run without faults shows nothing.
	quiet := counts[unknown] == 0 || of.kills == 0 || of.rotations == 0
	if quiet {
		fmt.Println("  no kill, no lost answer or no rotation: this run shows nothing")
	}
	whole := len(of.seen.operations) == of.operations && counts[late]+counts[conflict] == 0
	return result.accepted && len(wrong) == 0 && len(of.seen.complaints) == 0 && !quiet && whole, nil
}

func first(lines []string, most int) {
	for at, line := range lines {
		if at == most {
			fmt.Printf("    and %d more\n", len(lines)-most)
			return
		}
		fmt.Printf("    %s\n", line)
	}
}

func refuseForgeries(real []operation) (good bool, err error) {
	good = true
	for _, how := range forgeries {
		changed, key, err := forge(real, how)
		if err != nil {
			return false, err
		}
		result := judge(changed)
		word := "ACCEPTED"
		if len(result.refused) == 1 && result.refused[0] == key {
			word = "refused"
		}
		good = good && word == "refused"
		fmt.Printf("doctored: %-50s %s, for key %v\n", how.name, word, result.refused)
	}
	return good, nil
}

func refuseMutants(ctx context.Context, given options) (good bool, err error) {
	good = true
	for _, broken := range mutants {
		if err := makeEffects(ctx, given.mutantDsn); err != nil {
			return false, err
		}
		original, err := broken.put(ctx, given.mutantDsn)
		if err != nil {
			return false, err
		}
		seen, err := runInbox(ctx, given.mutantDsn, given.mutant, mutantPace, given.seed,
			broken.effectFirst)
		if err != nil {
			return false, err
		}
		if err := execute(ctx, given.mutantDsn, original); err != nil {
			return false, err
		}
		_, wrong, err := count(ctx, given.mutantDsn, seen)
		if err != nil {
			return false, err
		}
		result := judge(seen.seen.operations)
		found := !result.accepted
		if broken.effectFirst {
			// The answers are sound, and only the effects are not.
			found = slices.ContainsFunc(wrong, func(one string) bool {
				return strings.HasSuffix(one, " effects")
			})
		}
		word := "refused"
		if !found {
			word, good = "ACCEPTED", false
		}
		fmt.Printf("mutant: %-52s %s, for %d keys; the count finds %d faults\n", broken.name, word,
			len(result.refused), len(wrong))
	}
	return good, nil
}
