-------------------------------- MODULE Fence --------------------------------
(***************************************************************************)
(* A batch of messages and its transaction: fence, claims of a `table`     *)
(* ledger, rows, COMMIT, and the offset that Kafka is told afterwards.     *)
(*                                                                         *)
(* Faults (docs/faults.md names them): F1 a kill between any two steps; F2 *)
(* a frozen worker, as each step may come at any later time; F8 partitions *)
(* that change hands, as anybody may take any partition at any time; F11 a *)
(* group offset that is wrong, as nobody reads it; F15 and F16 a lost      *)
(* connection, above all while COMMIT is under way; F18 a fail-over that   *)
(* loses the last commits; F20 a passing error and keys in opposite        *)
(* orders; F25 the same key in two partitions; a batch that is lost inside *)
(* the worker; an error that a sink has swallowed.                         *)
(*                                                                         *)
(* Invariants: I1, I2, I3, I4, I5, I6, I7, I16, and for F20 that nobody    *)
(* waits in a circle.                                                      *)
(*                                                                         *)
(* A connection that is lost and a process that is killed are one action:  *)
(* each forgets all that the worker knew. The bound is on their sum.       *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    Workers,
    Log,            \* Log[p]: the keys of partition p's messages, in offset order
    MaxRead,        \* messages that a batch has of one partition
    MaxLosses,      \* kills and lost connections
    MaxFailOvers,
    MaxDropped,     \* batches that are lost inside a worker
    MaxSwallowed,   \* errors that a sink swallows
    Broken          \* the guards that are taken out; {} is the product

VARIABLES
    db,         \* what is committed
    standby,    \* what a fail-over would find: a copy from some earlier time, or none
    worker,     \* what each worker knows, and its transaction
    orphans,    \* transactions whose COMMIT was sent on a connection that is lost
    budget,     \* how much of each fault is left
    seen        \* what was observed at a step and must not be

vars == <<db, standby, worker, orphans, budget, seen>>

Partitions == DOMAIN Log
Messages == UNION {{p} \X (1..Len(Log[p])) : p \in Partitions}
Key(m) == Log[m[1]][m[2]]
Keys == {Key(m) : m \in Messages}

\* dedup/message/digest.cc. Keys 2 and 3 are the same up to a NUL.
Digest(m) == IF "text_keys_cut_at_nul" \in Broken /\ Key(m) = 3 THEN 2 ELSE Key(m)

None == [begin |-> 0, end |-> 0]
InSpan(span) == UNION {{p} \X (span[p].begin..(span[p].end - 1)) :
                       p \in {p \in Partitions : span[p] # None}}
SpansOf(span) == {p \in Partitions : span[p] # None}

\* The batch's order: by partition, then by offset. The first of some messages.
Before(m, n) == m[1] < n[1] \/ (m[1] = n[1] /\ m[2] < n[2])
First(ms) == CHOOSE m \in ms : \A n \in ms \ {m} : Before(m, n)

\* An owner's id is random and new at each take-over. Here the worker's name stands for the last id
\* that it made: it knows no other one, and the memory of all ends with a fail-over.
Nobody == "nobody"

\* at: where the reader reads next, 0 if the fence is not mine. memo: what a mutant remembers.
Blank == [pc |-> "idle", at |-> [p \in Partitions |-> 0],
          memo |-> [p \in Partitions |-> 0], span |-> [p \in Partitions |-> None],
          todo |-> {}, fresh |-> {}, spoilt |-> FALSE]

Empty == [owner |-> [p \in Partitions |-> Nobody], next |-> [p \in Partitions |-> 1],
          rows |-> [m \in Messages |-> 0], claims |-> {}, passed |-> [p \in Partitions |-> 0]]

Init ==
    /\ db = Empty
    /\ standby = <<>>
    /\ worker = [w \in Workers |-> Blank]
    /\ orphans = {}
    /\ budget = [losses |-> MaxLosses, failovers |-> MaxFailOvers, dropped |-> MaxDropped,
                 swallowed |-> MaxSwallowed]
    /\ seen = {}

-----------------------------------------------------------------------------
(* What PostgreSQL keeps of open transactions. *)

InTransaction(x) == x.pc \in {"claims", "commit"}
Open == {w \in Workers : InTransaction(worker[w])}

\* The fence's rows that are locked, by all but w.
LockedByOthers(w) == UNION ({SpansOf(worker[v].span) : v \in Open \ {w}}
                            \cup {SpansOf(o.span) : o \in orphans})
\* The keys that open transactions have inserted.
DigestsOf(ms) == {Digest(m) : m \in ms}
InsertedBy(w) == IF w \in Open THEN DigestsOf(worker[w].fresh) ELSE {}
InsertedByOthers(w) == UNION ({InsertedBy(v) : v \in Workers \ {w}}
                              \cup {DigestsOf(o.fresh) : o \in orphans})

Min2(a, b) == IF a < b THEN a ELSE b

\* By which owner a worker's transaction holds its fences.
Me(w) == [p \in Partitions |-> w]

\* What a COMMIT makes of the database: rows, claims, fence and totals together.
Apply(d, x) == [d EXCEPT
    !.rows = [m \in Messages |-> IF m \in x.fresh THEN Min2(d.rows[m] + 1, 2) ELSE d.rows[m]],
    !.claims = d.claims \cup DigestsOf(x.fresh),
    !.next = [p \in Partitions |-> IF x.span[p] = None THEN d.next[p] ELSE x.span[p].end],
    !.passed = [p \in Partitions |-> d.passed[p] + (x.span[p].end - x.span[p].begin)]]

\* I4: what must hold of the fence's rows when a transaction commits.
MissedAtCommit(d, x) ==
    IF \E p \in SpansOf(x.span) : d.owner[p] # x.me[p] \/ d.next[p] # x.span[p].begin
    THEN {"I4"} ELSE {}

\* consumer/worker.cc and KafkaSource::commit_through: Kafka is told the end of the batch. A
\* fail-over may have moved the fence back before; that is no violation of I2.
Told(x) == IF budget.failovers = MaxFailOvers
              /\ \E p \in SpansOf(x.span) : x.span[p].end > db.next[p]
           THEN {"I2"} ELSE {}

\* What a mutant remembers of a fence.
Memo(offset) == IF "start_from_memory" \in Broken THEN offset ELSE 0

Set(w, x) == worker' = [worker EXCEPT ![w] = x]

-----------------------------------------------------------------------------
(* The worker. *)

\* Fences::take_over, schemas/queries/fence/fence_take.sql. It waits for the row's lock, and so for
\* the fate of whatever transaction held it. Its own COMMIT may be in doubt as well: then nobody
\* knows this id, as after a take-over by somebody who is lost.
TakeOver(w, p) ==
    LET x == worker[w] IN
    /\ x.pc = "idle" /\ x.at[p] = 0
    /\ p \notin LockedByOthers(w)
    /\ db' = [db EXCEPT !.owner[p] = w]
    /\ Set(w, [x EXCEPT !.at[p] = db.next[p], !.memo[p] = Memo(db.next[p])])
    /\ UNCHANGED <<standby, orphans, budget, seen>>

\* Assignment: a partition leaves, and what waits of it is dropped (Processor::abandon).
Revoke(w, p) ==
    LET x == worker[w]
        span == [x.span EXCEPT ![p] = None] IN
    /\ x.pc \in {"idle", "batch"} /\ x.at[p] # 0
    /\ Set(w, [x EXCEPT !.at[p] = 0, !.memo[p] = 0, !.span = span,
                        !.pc = IF SpansOf(span) = {} THEN "idle" ELSE x.pc])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* consumer/reader.cc: the reader tags the batch with the offset where its reading began.
Read(w) ==
    LET x == worker[w] IN
    /\ x.pc = "idle"
    /\ \E ps \in SUBSET {p \in Partitions : x.at[p] # 0 /\ x.at[p] <= Len(Log[p])} \ {{}} :
       \E n \in 1..MaxRead :
         LET ends == [p \in Partitions |-> Min2(x.at[p] + n, Len(Log[p]) + 1)]
             span == [p \in Partitions |-> IF p \in ps
                      THEN [begin |-> x.at[p], end |-> ends[p]] ELSE None] IN
         Set(w, [x EXCEPT !.pc = "batch", !.span = span,
                          !.at = [p \in Partitions |-> IF p \in ps THEN ends[p] ELSE x.at[p]]])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* Where this batch must begin in the row (dedup/fence/fence.cc, start_of).
Start(x, p) == IF "start_from_memory" \in Broken THEN x.memo[p] ELSE x.span[p].begin

Matches(w, p) ==
    LET x == worker[w] IN
    /\ "no_fence_check" \in Broken \/ db.owner[p] = w
    /\ Broken \cap {"no_fence_check", "owner_checked_but_not_the_offset"} # {}
         \/ db.next[p] = Start(x, p)

\* Fences::hold, schemas/queries/fence/fence_hold.sql: all of the batch's rows are locked; a row
\* that does not match is not waited for. It is missed: taken again later.
Hold(w) ==
    LET x == worker[w]
        missed == {p \in SpansOf(x.span) : ~Matches(w, p)}
        span == [p \in Partitions |-> IF p \in missed THEN None ELSE x.span[p]]
        zero(f) == [p \in Partitions |-> IF p \in missed THEN 0 ELSE f[p]] IN
    /\ x.pc = "batch"
    /\ IF missed # {}
       THEN Set(w, [x EXCEPT !.span = span, !.at = zero(x.at), !.memo = zero(x.memo),
                             !.pc = IF SpansOf(span) = {} THEN "idle" ELSE "batch"])
       ELSE /\ SpansOf(x.span) \cap LockedByOthers(w) = {}
            /\ Set(w, [x EXCEPT !.pc = "claims", !.todo = DigestsOf(InSpan(x.span))])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* The first message of each key in the batch is the one that may be fresh.
FirstOf(x, d) == First({m \in InSpan(x.span) : Digest(m) = d})

\* dedup/claims/distinct_claims.cc: by digest, in every worker.
Next1(x) ==
    IF "unsorted_batch" \in Broken
    THEN CHOOSE d \in x.todo : \A e \in x.todo \ {d} : Before(FirstOf(x, d), FirstOf(x, e))
    ELSE CHOOSE d \in x.todo : \A e \in x.todo \ {d} : d < e

\* TableStore::claim, schemas/queries/claims/claims_insert.sql: waits for the transaction that has
\* inserted the key, then it is a duplicate, or mine if the other was rolled back.
Claim(w) ==
    LET x == worker[w]
        d == Next1(x) IN
    /\ x.pc = "claims" /\ x.todo # {}
    /\ d \notin InsertedByOthers(w)
    /\ Set(w, [x EXCEPT !.todo = @ \ {d},
                        !.fresh = IF d \in db.claims THEN @ ELSE @ \cup {FirstOf(x, d)}])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* Sink::write, Fences::advance, and the COMMIT is on its way: until its answer it is in doubt.
\* `spoilt`: the sink has swallowed an error, so that COMMIT will be answered with ROLLBACK.
Write(w, spoilt) ==
    LET x == worker[w] IN
    /\ x.pc = "claims" /\ x.todo = {}
    /\ spoilt => budget.swallowed > 0
    /\ Set(w, [x EXCEPT !.pc = "commit", !.spoilt = spoilt,
                        !.memo = [p \in Partitions |-> IF x.span[p] = None THEN @[p]
                                                       ELSE Memo(x.span[p].end)]])
    /\ seen' = seen \cup (IF "offset_before_commit" \in Broken THEN Told(x) ELSE {})
    /\ budget' = [budget EXCEPT !.swallowed = IF spoilt THEN @ - 1 ELSE @]
    /\ UNCHANGED <<db, standby, orphans>>

\* The server decides.
Decide(w) ==
    LET x == worker[w] IN
    /\ x.pc = "commit"
    /\ IF x.spoilt
       THEN /\ Set(w, [x EXCEPT !.pc = "rolled back"])
            /\ UNCHANGED <<db, seen>>
       ELSE /\ db' = Apply(db, x)
            /\ seen' = seen \cup MissedAtCommit(db, x @@ [me |-> Me(w)])
            /\ Set(w, [x EXCEPT !.pc = "committed"])
    /\ UNCHANGED <<standby, orphans, budget>>

Ended(x) == [x EXCEPT !.pc = "idle", !.span = Blank.span, !.fresh = {}, !.todo = {},
                      !.spoilt = FALSE]
Again(x) == [x EXCEPT !.pc = "batch", !.fresh = {}, !.todo = {}, !.spoilt = FALSE]

\* The answer is read; Transaction::commit_now compares its tag. Only then Kafka is told.
Answer(w) ==
    LET x == worker[w]
        taken == x.pc = "committed"
            \/ (x.pc = "rolled back" /\ "commit_tag_not_looked_at" \in Broken) IN
    /\ x.pc \in {"committed", "rolled back"}
    /\ Set(w, IF taken THEN Ended(x) ELSE Again(x))
    /\ seen' = seen \cup (IF taken THEN Told(x) ELSE {})
    /\ UNCHANGED <<db, standby, orphans, budget>>

-----------------------------------------------------------------------------
(* What goes wrong. *)

\* A deadlock, a time-out, a serialization failure: rolled back, and the batch is done again.
PassingError(w) ==
    /\ worker[w].pc = "claims"
    /\ Set(w, Again(worker[w]))
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* A batch is lost between reader and writer; the reader goes on after it.
DropBatch(w) ==
    /\ worker[w].pc = "batch" /\ budget.dropped > 0
    /\ Set(w, Ended(worker[w]))
    /\ budget' = [budget EXCEPT !.dropped = @ - 1]
    /\ UNCHANGED <<db, standby, orphans, seen>>

\* A mutant asks by SELECT whether the first key of the batch is claimed.
AsksAndFinds(x) == "select_to_resolve_a_lost_commit" \in Broken
    /\ Digest(First(InSpan(x.span))) \in db.claims

\* A kill, or a connection that is lost: all that the worker knew is forgotten. A COMMIT that was
\* sent may still be carried out, at any later time.
Lose(w) ==
    LET x == worker[w] IN
    /\ budget.losses > 0
    /\ x # Blank
    /\ Set(w, Blank)
    /\ orphans' = IF x.pc = "commit" /\ ~x.spoilt
                  THEN orphans \cup {[span |-> x.span, fresh |-> x.fresh, me |-> Me(w)]}
                  ELSE orphans
    /\ seen' = seen \cup (IF x.pc = "commit" /\ AsksAndFinds(x) THEN Told(x) ELSE {})
    /\ budget' = [budget EXCEPT !.losses = @ - 1]
    /\ UNCHANGED <<db, standby>>

OrphanCommits == \E o \in orphans :
    /\ db' = Apply(db, o)
    /\ seen' = seen \cup MissedAtCommit(db, o)
    /\ orphans' = orphans \ {o}
    /\ UNCHANGED <<standby, worker, budget>>

OrphanRollsBack == \E o \in orphans :
    /\ orphans' = orphans \ {o}
    /\ UNCHANGED <<db, standby, worker, budget, seen>>

\* The standby is cut off: what commits from here on is lost at the fail-over.
Detach ==
    /\ standby = <<>> /\ budget.failovers > 0
    /\ standby' = <<db>>
    /\ UNCHANGED <<db, worker, orphans, budget, seen>>

\* The standby is the primary. Every session is broken, and what was under way is gone.
FailOver ==
    /\ standby # <<>>
    /\ db' = standby[1]
    /\ standby' = <<>>
    /\ worker' = [w \in Workers |-> Blank]
    /\ orphans' = {}
    /\ budget' = [budget EXCEPT !.failovers = @ - 1]
    /\ UNCHANGED seen

Next ==
    \/ \E w \in Workers :
        \/ \E p \in Partitions : TakeOver(w, p) \/ Revoke(w, p)
        \/ Read(w) \/ Hold(w) \/ Claim(w) \/ Decide(w) \/ Answer(w)
        \/ Write(w, FALSE) \/ Write(w, TRUE) \/ PassingError(w) \/ DropBatch(w) \/ Lose(w)
    \/ OrphanCommits \/ OrphanRollsBack \/ Detach \/ FailOver

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold. *)

Applied == {m \in Messages : db.rows[m] > 0}
I1_NothingTwice == (\A m \in Applied : db.rows[m] = 1)
    /\ Cardinality({Key(m) : m \in Applied}) = Cardinality(Applied)

\* With I7: also after a fail-over, whose database says so itself.
I3_NothingMissing ==
    \A m \in Messages : m[2] < db.next[m[1]] => \E n \in Applied : Key(n) = Key(m)

I2_KafkaNotAhead == "I2" \notin seen

I4_NoMissedRowCommits == "I4" \notin seen

I5_OneOwner == \A p \in Partitions :
    Cardinality({w \in Workers : worker[w].at[p] # 0 /\ w = db.owner[p]}) <= 1

I6_ClaimAndEffect == db.claims = DigestsOf(Applied)

I16_Totals == \A p \in Partitions : db.passed[p] = db.next[p] - 1

WaitsFor(v, w) == worker[v].pc = "claims" /\ worker[v].todo # {}
    /\ Next1(worker[v]) \in InsertedBy(w)
F20_NoCircle == \A v, w \in Workers : v # w => ~(WaitsFor(v, w) /\ WaitsFor(w, v))

=============================================================================
