------------------------------ MODULE FenceTrace ------------------------------
(***************************************************************************)
(* Whether Fence.tla can do what a run of the campaign's core tier did:    *)
(* each committed transaction, in the order of commits, has to be one that *)
(* Fence lets commit, and makes of the database what Fence makes of it.    *)
(* What a step must be and what it does are Fence's own definitions        *)
(* (MissedAtCommit, Digest, Apply, the invariants).                        *)
(*                                                                         *)
(* A run has what Fence leaves out, and that is judged here: dead letters, *)
(* skipped messages, totals by outcome, sessions and epochs.               *)
(*                                                                         *)
(* A step that is refused has no successor. model/trace writes the module  *)
(* FenceTraceData from a file of the run, with changed copies of it; it    *)
(* reads which of them were accepted, and how far the others came.         *)
(***************************************************************************)
EXTENDS Fence, FenceTraceData

\* The owners' ids, the sessions and epochs of each fence, which trace it is, and its next step.
VARIABLES used, session, epoch, which, at
traceVars == <<vars, used, session, epoch, which, at>>

TraceInit ==
    /\ Init
    /\ used = {}
    /\ session = [p \in Partitions |-> 0]
    /\ epoch = [p \in Partitions |-> 0]
    /\ which \in DOMAIN Traces
    /\ at = 1

\* A fence is made or taken: by an id that nobody had before, and under a higher epoch.
Taken(e) ==
    /\ e.kind = "take"
    /\ db.owner[e.p] = e.old /\ db.next[e.p] = e.next
    /\ e.new \notin used
    /\ e.epoch > epoch[e.p] \/ e.old = Nobody
    /\ db' = [db EXCEPT !.owner[e.p] = e.new]
    /\ used' = used \cup {e.new}
    /\ epoch' = [epoch EXCEPT ![e.p] = e.epoch]
    /\ session' = [session EXCEPT ![e.p] = e.session]

\* A fence's row is written and not moved: a watermark.
Marked(e) ==
    /\ e.kind = "mark"
    /\ db.owner[e.p] = e.old /\ db.next[e.p] = e.next
    /\ UNCHANGED <<db, used, session, epoch>>

In(ms, p) == {m \in ms : m[1] = p}

Committed(e) ==
    LET passed == InSpan(e.span)
        skipped == (passed \cap Skippable) \ e.dead
        duplicates == passed \ (e.fresh \cup e.dead \cup skipped) IN
    /\ e.kind = "commit"
    /\ MissedAtCommit(db, e) = {}
    /\ \A p \in SpansOf(e.span) : session[p] = e.session
    \* Each effect, claim and dead letter is of a message that this transaction passes.
    /\ e.fresh \subseteq passed /\ e.dead \subseteq passed /\ e.fresh \cap e.dead = {}
    /\ ClaimsComplete => e.claims = e.fresh
    \* Fresh is what nobody has claimed, a duplicate what somebody has, or this batch before it.
    /\ DigestsOf(e.fresh) \cap db.claims = {}
    /\ Cardinality(DigestsOf(e.fresh)) = Cardinality(e.fresh)
    /\ e.fresh \cap Skippable = {}
    /\ \A m \in duplicates : Digest(m) \in db.claims
         \/ \E n \in e.fresh : Digest(n) = Digest(m) /\ (n[1] = m[1] => Before(n, m))
    \* I16, by outcome.
    /\ \A p \in SpansOf(e.span) : e.counts[p] =
         <<Cardinality(In(e.fresh, p)), Cardinality(In(duplicates, p)),
           Cardinality(In(e.dead, p)), Cardinality(In(skipped, p))>>
    /\ db' = Apply(db, e)
    /\ UNCHANGED <<used, session, epoch>>

\* The end: all is read, nothing is missing, and Kafka was told nothing that the fence has not.
Over ==
    /\ \A p \in Partitions : db.next[p] = Len(Log[p]) + 1 /\ Traces[which].told[p] <= db.next[p]
    /\ I1_NothingTwice /\ I6_ClaimAndEffect /\ I16_Totals

Step ==
    /\ at <= Len(Traces[which].steps)
    /\ LET e == Traces[which].steps[at] IN Taken(e) \/ Marked(e) \/ Committed(e)
    /\ at' = at + 1
    /\ PrintT(<<"step", which, at>>)
    /\ UNCHANGED <<standby, worker, orphans, budget, seen, which>>

Done ==
    /\ at = Len(Traces[which].steps) + 1
    /\ Over
    /\ at' = at + 1
    /\ PrintT(<<"accepted", which>>)
    /\ UNCHANGED <<vars, used, session, epoch, which>>

TraceSpec == TraceInit /\ [][Step \/ Done]_traceVars

=============================================================================
