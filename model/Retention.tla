------------------------------ MODULE Retention ------------------------------
(***************************************************************************)
(* When claims expire: generations, watermarks in the log's time, keys     *)
(* that say when they were made, a replay, and messages that are read long *)
(* after they were written. Transactions are one step here; Fence.tla and  *)
(* LogLedger.tla are about what happens inside them.                       *)
(*                                                                         *)
(* Faults (docs/faults.md): F27 a duplicate across a rotation and a purge, *)
(* after any downtime, from a partition that no worker owns (any step may  *)
(* come at any later time, and a partition may be read by nobody); F2 a    *)
(* sample that is written late; F8 a partition that changes hands between  *)
(* a sample and its write; F18 a fail-over that loses the last commits.    *)
(*                                                                         *)
(* Invariants: I1 and I8: a duplicate that becomes readable within the     *)
(* retention after its original was applied is found, however late it is   *)
(* read; with `minted_at` whatever it is sent after; in a replay too.      *)
(*                                                                         *)
(* The clock is the database's. It is exact: no skew, no step back.        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Partitions, Keys,
    Retention,      \* in ticks
    LastTick,
    MaxMessages,    \* in all partitions
    MaxGenerations,
    MaxFailOvers,
    MintedAt,       \* keys say when they were made, and may come at any time
    MaxReplays,     \* `onceward replay` of a partition from its beginning
    Broken

VARIABLES
    now,
    log,        \* what was produced, and is readable
    db,         \* what is committed
    standby,
    sample,     \* of each partition: what its worker keeps in memory
    minted,     \* when each key was made, 0 if it was not yet
    budget,
    seen

vars == <<now, log, db, standby, sample, minted, budget, seen>>

None == [moment |-> 0, end |-> 0]

\* applied: when each key was applied, for the judge; nobody else reads it. generations: number,
\* keys, when it was sealed (0: current). begins: since when the ledger knows its keys.
Init ==
    /\ now = 1
    /\ log = [p \in Partitions |-> <<>>]
    /\ db = [next |-> [p \in Partitions |-> 1], mark |-> [p \in Partitions |-> 0],
             generations |-> {[number |-> 1, keys |-> {}, sealed |-> 0]},
             current |-> 1, begins |-> 0, applied |-> {}, replay |-> <<>>]
    /\ standby = <<>>
    /\ sample = [p \in Partitions |-> None]
    /\ minted = [k \in Keys |-> 0]
    /\ budget = [failovers |-> MaxFailOvers, replays |-> MaxReplays]
    /\ seen = {}

RECURSIVE Total(_)
Total(ps) == IF ps = {} THEN 0 ELSE
    LET p == CHOOSE p \in ps : TRUE IN Len(log[p]) + Total(ps \ {p})

Tick ==
    /\ now < LastTick
    /\ now' = now + 1
    /\ UNCHANGED <<log, db, standby, sample, minted, budget, seen>>

AppliedAt(k) == {a[2] : a \in {a \in db.applied : a[1] = k}}

\* A producer's message becomes readable. Without `minted_at` a repeat comes within the retention
\* after its original was applied, or before that; with it at any time.
Produce(p, k) ==
    /\ Total(Partitions) < MaxMessages
    /\ MintedAt \/ \A t \in AppliedAt(k) : now <= t + Retention
    /\ log' = [log EXCEPT ![p] = Append(@, k)]
    /\ minted' = [minted EXCEPT ![k] = IF @ = 0 THEN now ELSE @]
    /\ UNCHANGED <<now, db, standby, sample, budget, seen>>

Claimed == UNION {g.keys : g \in db.generations}

\* What a batch does with one key: a duplicate, too late to be judged (ledger_memory.cc), or fresh.
Late(k) == MintedAt /\ minted[k] < db.begins /\ "late_key_is_claimed" \notin Broken
Apply(d, k) ==
    IF k \in Claimed \/ Late(k) THEN d ELSE [d EXCEPT
        !.generations = {IF g.number = d.current THEN [g EXCEPT !.keys = @ \cup {k}] ELSE g :
                         g \in @},
        !.applied = @ \cup {<<k, now>>}]
Judge(k) == IF k \notin Claimed /\ ~Late(k) /\ AppliedAt(k) # {} THEN {"twice"}
            ELSE IF k \notin Claimed /\ Late(k) /\ AppliedAt(k) = {} /\ now <= minted[k] + Retention
            THEN {"refused in time"} ELSE {}

\* Processor::attempt, as one step.
Process(p) ==
    /\ db.next[p] <= Len(log[p])
    /\ LET k == log[p][db.next[p]] IN
       /\ db' = Apply([db EXCEPT !.next[p] = @ + 1], k)
       /\ seen' = seen \cup Judge(k)
    /\ UNCHANGED <<now, log, standby, sample, minted, budget>>

\* WatermarkSampler::sampled, dedup/retention/watermark.cc: the database's clock first, then the
\* log's end. It is kept until the fence has reached that end.
Sample(p) ==
    /\ sample[p] = None
    /\ sample' = [sample EXCEPT ![p] = [moment |-> now, end |-> Len(log[p]) + 1]]
    /\ UNCHANGED <<now, log, db, standby, minted, budget, seen>>

\* The partition changes hands, or the worker ends: the sample is forgotten.
Forget(p) ==
    /\ sample[p] # None
    /\ sample' = [sample EXCEPT ![p] = None]
    /\ UNCHANGED <<now, log, db, standby, minted, budget, seen>>

\* watermark_write.sql: how far the fence is is compared in the row.
WriteMark(p) ==
    /\ sample[p] # None
    /\ sample' = [sample EXCEPT ![p] = None]
    /\ IF db.next[p] >= sample[p].end \/ "watermark_before_the_fence" \in Broken
       THEN db' = [db EXCEPT !.mark[p] = IF sample[p].moment > @ THEN sample[p].moment ELSE @]
       ELSE UNCHANGED db
    /\ UNCHANGED <<now, log, standby, minted, budget, seen>>

\* rotate_ledger(). With `minted_at` the sealing's clock has to be later than that of each claim in
\* the generation, as Late compares with `<`. The product reads it after it has waited for those
\* claims' COMMIT, and adds clock_skew(); a tick is coarser than that.
Rotate ==
    /\ db.current < MaxGenerations
    /\ MintedAt => \A a \in db.applied : a[2] < now
    /\ \E g \in db.generations : g.number = db.current /\ g.keys # {}
    /\ db' = [db EXCEPT
         !.generations = {IF g.number = db.current THEN [g EXCEPT !.sealed = now] ELSE g : g \in @}
                         \cup {[number |-> db.current + 1, keys |-> {}, sealed |-> 0]},
         !.current = @ + 1]
    /\ UNCHANGED <<now, log, standby, sample, minted, budget, seen>>

\* ledger_watermark(): the least of all partitions' and nothing while a replay is open. A mutant
\* takes the clock for it, and another one leaves out a partition that has none.
Marks == {db.mark[p] : p \in Partitions}
Watermark ==
    IF "purge_by_wall_clock" \in Broken THEN now
    ELSE IF db.replay # <<>> /\ "open_replay_not_counted" \notin Broken THEN 0
    ELSE CHOOSE t \in Marks : \A u \in Marks : t <= u

\* unlist_expired(): under the ledger's lock. The memory begins where the last of them ended.
Purge ==
    LET gone == {g \in db.generations : g.sealed > 0 /\ g.sealed + Retention < Watermark}
        ends == {g.sealed : g \in gone} \cup {db.begins} IN
    /\ gone # {}
    /\ db' = [db EXCEPT !.generations = @ \ gone,
                        !.begins = CHOOSE t \in ends : \A u \in ends : u <= t]
    /\ UNCHANGED <<now, log, standby, sample, minted, budget, seen>>

\* `onceward replay`: a partition is read again from its beginning, by its own place in the table
\* `replays`. DANGER: refused if claims of the range may be gone: looked up when the replay is
\* open, as from then on none can go (cli/commands/replay.cc, refuse_repeats).
BeginReplay(p) ==
    /\ budget.replays > 0 /\ db.replay = <<>> /\ db.next[p] > 1
    /\ "replay_without_its_claims" \in Broken
         \/ \A i \in 1..(db.next[p] - 1) : log[p][i] \in Claimed
    /\ db' = [db EXCEPT !.replay = <<[partition |-> p, at |-> 1, end |-> db.next[p]]>>]
    /\ budget' = [budget EXCEPT !.replays = @ - 1]
    /\ UNCHANGED <<now, log, standby, sample, minted, seen>>

ReplayOne ==
    /\ db.replay # <<>>
    /\ LET r == db.replay[1]
           k == log[r.partition][r.at]
           rest == IF r.at + 1 = r.end THEN <<>> ELSE <<[r EXCEPT !.at = @ + 1]>> IN
       /\ db' = Apply([db EXCEPT !.replay = rest], k)
       /\ seen' = seen \cup Judge(k)
    /\ UNCHANGED <<now, log, standby, sample, minted, budget>>

Detach ==
    /\ standby = <<>> /\ budget.failovers > 0
    /\ standby' = <<db>>
    /\ UNCHANGED <<now, log, db, sample, minted, budget, seen>>

\* All that was committed since goes back: fence, claims, rows and marks. Workers take the fences
\* again, and forget their samples.
FailOver ==
    /\ standby # <<>>
    /\ db' = standby[1] /\ standby' = <<>>
    /\ sample' = [p \in Partitions |-> None]
    /\ budget' = [budget EXCEPT !.failovers = @ - 1]
    /\ UNCHANGED <<now, log, minted, seen>>

Next ==
    \/ Tick \/ Rotate \/ Purge \/ ReplayOne \/ Detach \/ FailOver
    \/ \E p \in Partitions :
        \/ Process(p) \/ Sample(p) \/ Forget(p) \/ WriteMark(p) \/ BeginReplay(p)
        \/ \E k \in Keys : Produce(p, k)

Spec == Init /\ [][Next]_vars

I8_NothingTwice == "twice" \notin seen
I1_NothingRefusedInTime == "refused in time" \notin seen
I3_NothingMissing == \A p \in Partitions : \A i \in 1..(db.next[p] - 1) :
    AppliedAt(log[p][i]) # {} \/ MintedAt

=============================================================================
