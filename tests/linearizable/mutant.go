package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// mutant is Onceward's schema with one guard taken out of a function that writes the functions of
// a ledger, in a database of its own. The judge has to refuse what clients see of it.
type mutant struct {
	name, function, text string
	// Instead of that: clients look for an effect, make theirs, and claim after it.
	effectFirst bool
}

var mutants = []mutant{
	{name: "claims do not look into sealed generations",
		function: "onceward.inbox_claim_text(onceward.inboxes)",
		text:     "AND NOT EXISTS (SELECT FROM onceward.claims_%s_%s k WHERE k.digest = wanted)"},
	{name: "claims do not take the ledger's lock",
		function: "onceward.inbox_claim_text(onceward.inboxes)",
		text: "IF NOT pg_try_advisory_xact_lock_shared(1330524999, %1$s) THEN\n" +
			"        PERFORM pg_advisory_xact_lock_shared(1330524999, %1$s);\n    END IF;"},
	{name: "generations are sealed without the ledger's lock",
		function: "onceward.rotate_ledger(integer,bigint)",
		text:     "PERFORM pg_advisory_xact_lock(1330524999, wanted_ledger);"},
	{name: "the effect is committed before the claim", effectFirst: true},
}

// put replaces the function, and answers with what puts the original back.
func (m mutant) put(ctx context.Context, dsn string) (original string, err error) {
	if m.effectFirst {
		return "SELECT", nil
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT pg_get_functiondef($1::regprocedure)",
		m.function).Scan(&original)
	if err != nil {
		return "", err
	}
	if strings.Count(original, m.text) != 1 {
		return "", fmt.Errorf("%s has not the text that the mutant takes out", m.function)
	}
	_, err = conn.Exec(ctx, strings.Replace(original, m.text, "", 1))
	return original, err
}
