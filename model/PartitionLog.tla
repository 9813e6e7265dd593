----------------------------- MODULE PartitionLog -----------------------------
(***************************************************************************)
(* The `log` store with `reach: partition`: only the fence keeps others    *)
(* out, and a worker knows the claims of a partition from the time when it *)
(* took it over. One partition; workers may take it at any time.           *)
(*                                                                         *)
(* Faults (docs/faults.md): F1, F2, F8, F15, F16, F18, as in Fence.tla.    *)
(* Invariants: I1, I3, I6, I7.                                             *)
(*                                                                         *)
(* A connection that is lost and a process that is killed are one action.  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Workers,
    Log,            \* the keys of the partition's messages, in offset order
    MaxRead, MaxLosses, MaxFailOvers,
    Broken

VARIABLES db, standby, worker, orphans, budget, seen
vars == <<db, standby, worker, orphans, budget, seen>>

Nobody == "nobody"
Blank == [pc |-> "out", at |-> 0, end |-> 0, fresh |-> {}, window |-> {}]

Init ==
    /\ db = [owner |-> Nobody, next |-> 1, claims |-> {}, effects |-> {}]
    /\ standby = <<>>
    /\ worker = [w \in Workers |-> Blank]
    /\ orphans = {}
    /\ budget = [losses |-> MaxLosses, failovers |-> MaxFailOvers]
    /\ seen = {}

Set(w, x) == worker' = [worker EXCEPT ![w] = x]
Locked(w) == orphans # {} \/ \E v \in Workers \ {w} : worker[v].pc \in {"rows", "commit"}
KeysIn(x) == {Log[o] : o \in x.at..(x.end - 1)}

\* PartitionLogStore::partitions_taken, before the take-over: what the mutant does.
ReadTooEarly(w) ==
    /\ "window_read_before_the_take_over" \in Broken
    /\ worker[w].pc = "out"
    /\ Set(w, [worker[w] EXCEPT !.window = db.claims])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* Fences::take_over, in a transaction of its own.
TakeOver(w) ==
    /\ worker[w].pc = "out" /\ ~Locked(w)
    /\ db' = [db EXCEPT !.owner = w]
    /\ Set(w, [worker[w] EXCEPT !.at = db.next,
         !.pc = IF "window_read_before_the_take_over" \in Broken THEN "idle" ELSE "taken"])
    /\ UNCHANGED <<standby, orphans, budget, seen>>

\* consumer/writing/take_over.cc, take_fence: the window is read in a later transaction.
ReadWindow(w) ==
    /\ worker[w].pc = "taken"
    /\ Set(w, [worker[w] EXCEPT !.pc = "idle", !.window = db.claims])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* Fences::hold, then PartitionLogStore::claim: verdicts come from memory alone.
Begin(w) ==
    LET x == worker[w] IN
    /\ x.pc = "idle" /\ x.at <= Len(Log)
    /\ IF db.owner = w /\ db.next = x.at
       THEN \E n \in 1..MaxRead :
            LET end == x.at + n
                y == [x EXCEPT !.end = end] IN
            /\ end <= Len(Log) + 1 /\ ~Locked(w)
            /\ Set(w, [y EXCEPT !.pc = "rows", !.fresh = KeysIn(y) \ x.window])
            /\ seen' = seen \cup (IF (KeysIn(y) \cap x.window) \ db.effects # {}
                                  THEN {"lost"} ELSE {})
       ELSE Set(w, Blank) /\ UNCHANGED seen
    /\ UNCHANGED <<db, standby, orphans, budget>>

\* Rows, fence and the append, with the lock shared (log_lock_shared.sql): nothing is compared.
SendCommit(w) ==
    /\ worker[w].pc = "rows"
    /\ Set(w, [worker[w] EXCEPT !.pc = "commit"])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

Apply(d, x) == [d EXCEPT !.next = x.end, !.claims = @ \cup x.fresh, !.effects = @ \cup x.fresh]
Twice(x) == IF x.fresh \cap db.effects # {} THEN {"twice"} ELSE {}

Decide(w) ==
    /\ worker[w].pc = "commit"
    /\ db' = Apply(db, worker[w])
    /\ seen' = seen \cup Twice(worker[w])
    /\ Set(w, [worker[w] EXCEPT !.pc = "committed"])
    /\ UNCHANGED <<standby, orphans, budget>>

Answer(w) ==
    LET x == worker[w] IN
    /\ x.pc = "committed"
    /\ Set(w, [x EXCEPT !.pc = "idle", !.at = x.end, !.end = 0, !.fresh = {},
                        !.window = @ \cup x.fresh])
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

\* The partition leaves, or a passing error.
Revoke(w) ==
    /\ worker[w].pc \in {"idle", "taken", "rows"}
    /\ Set(w, Blank)
    /\ UNCHANGED <<db, standby, orphans, budget, seen>>

Lose(w) ==
    /\ budget.losses > 0 /\ worker[w] # Blank
    /\ orphans' = IF worker[w].pc = "commit" THEN orphans \cup {worker[w]} ELSE orphans
    /\ Set(w, Blank)
    /\ budget' = [budget EXCEPT !.losses = @ - 1]
    /\ UNCHANGED <<db, standby, seen>>

Orphan == \E o \in orphans :
    /\ orphans' = orphans \ {o}
    /\ \/ db' = Apply(db, o) /\ seen' = seen \cup Twice(o)
       \/ UNCHANGED <<db, seen>>
    /\ UNCHANGED <<standby, worker, budget>>

Detach ==
    /\ standby = <<>> /\ budget.failovers > 0
    /\ standby' = <<db>>
    /\ UNCHANGED <<db, worker, orphans, budget, seen>>

FailOver ==
    /\ standby # <<>>
    /\ db' = standby[1] /\ standby' = <<>>
    /\ worker' = [w \in Workers |-> Blank]
    /\ orphans' = {}
    /\ budget' = [budget EXCEPT !.failovers = @ - 1]
    /\ UNCHANGED seen

Next ==
    \/ \E w \in Workers :
        \/ ReadTooEarly(w) \/ TakeOver(w) \/ ReadWindow(w) \/ Begin(w) \/ SendCommit(w)
        \/ Decide(w) \/ Answer(w) \/ Revoke(w) \/ Lose(w)
    \/ Orphan \/ Detach \/ FailOver

Spec == Init /\ [][Next]_vars

I1_NothingTwice == "twice" \notin seen
I1_NoFalseDuplicate == "lost" \notin seen
I3_NothingMissing == \A o \in 1..(db.next - 1) : Log[o] \in db.effects
I6_ClaimAndEffect == db.claims = db.effects

=============================================================================
