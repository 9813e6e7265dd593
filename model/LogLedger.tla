------------------------------ MODULE LogLedger ------------------------------
(***************************************************************************)
(* The `log` store with `reach: global`: a log of claims that all workers  *)
(* read, the ledger's lock, rotation, sealed and merged segments, eviction *)
(* and purge.                                                              *)
(* Each worker has a partition of its own, as Fence.tla is about those     *)
(* that change hands.                                                      *)
(*                                                                         *)
(* Faults (docs/faults.md): F1 a kill between any two steps; F2 a frozen   *)
(* worker; F15 and F16 a lost connection, above all while COMMIT is under  *)
(* way; F18 a fail-over that loses the last commits, and gives their       *)
(* numbers in the log to others; F20 a passing error; F25 one key in       *)
(* several partitions; F27 a duplicate across a rotation and a purge.      *)
(*                                                                         *)
(* Invariants: I1, as what a verdict must be at its commit: nothing fresh  *)
(* that has its effect already, no duplicate of what has none; I3; I6; I7; *)
(* I8 as far as it is about what a reader has not read yet.                *)
(*                                                                         *)
(* A connection that is lost and a process that is killed are one action.  *)
(* Not here: the lock's time-outs, the limit of batches in one reading,    *)
(* fingerprints, a segment that is made while others are merged. Numbers   *)
(* in the log that a rollback burns are used again, since nobody has seen  *)
(* them.                                                                   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    Workers,
    Log,            \* Log[w]: the keys of the messages in w's partition, in offset order
    Process,        \* Process[w]: workers of one process share a window
    MaxRead,
    MaxLosses, MaxFailOvers, MaxRotations, MaxEvictions, MaxPurges, MaxMerges,
    Broken

VARIABLES
    db,         \* what is committed
    standby,    \* what a fail-over would find, or none
    window,     \* what each process remembers (dedup/claims/log/log_window.h)
    tx,         \* each worker's transaction
    orphans,    \* transactions whose COMMIT was sent on a connection that is lost
    sealing,    \* the segment that is being made of a log or of segments, or none
    budget,
    seen

vars == <<db, standby, window, tx, orphans, sealing, budget, seen>>

Processes == {Process[w] : w \in Workers}
Messages == {m \in Workers \X (1..8) : m[2] <= Len(Log[m[1]])}
Key(m) == Log[m[1]][m[2]]
Keys == {Key(m) : m \in Messages}
Max(s) == IF s = {} THEN 0 ELSE CHOOSE x \in s : \A y \in s : y <= x
Min(s) == CHOOSE x \in s : \A y \in s : x <= y

NoWindow == [on |-> FALSE, known |-> {}, last |-> 0, gen |-> 0, evictions |-> 0]
NoTx == [pc |-> "idle", end |-> 0, fresh |-> {}, dups |-> {}, rely |-> {}, seq |-> 0, gen |-> 0,
         must |-> FALSE, snapshot |-> <<>>]

\* log: one entry for each batch. effects: the keys whose effect is there, as the sink says; rows:
\* how often each was applied since it was evicted the last time.
Init ==
    /\ db = [next |-> [w \in Workers |-> 1], effects |-> {}, log |-> {}, top |-> 0, gen |-> 1,
             listed |-> {1}, segments |-> {}, floor |-> 0, evictions |-> 0]
    /\ standby = <<>>
    /\ window = [p \in Processes |-> NoWindow]
    /\ tx = [w \in Workers |-> NoTx]
    /\ orphans = {}
    /\ sealing = <<>>
    /\ budget = [losses |-> MaxLosses, failovers |-> MaxFailOvers, rotations |-> MaxRotations,
                 evictions |-> MaxEvictions, purges |-> MaxPurges, merges |-> MaxMerges]
    /\ seen = {}

-----------------------------------------------------------------------------
(* The ledger's exclusive lock lives until a COMMIT is decided. *)

LockFree == (\A w \in Workers : tx[w].pc # "commit" \/ tx[w].fresh = {})
    /\ (\A o \in orphans : o.fresh = {})

KeysOf(ms) == {Key(m) : m \in ms}
MyWindow(w) == window[Process[w]]
KnownKeys(x) == {e[2] : e \in x.known}
SetTx(w, x) == tx' = [tx EXCEPT ![w] = x]
SetWindow(w, x) == window' = [window EXCEPT ![Process[w]] = x]

\* What a commit makes of the database. The fresh keys' rows and claims, and the fence.
Apply(d, w, x) == [d EXCEPT
    !.next[w] = x.end,
    !.effects = @ \cup KeysOf(x.fresh),
    !.log = IF x.fresh = {} THEN @
            ELSE @ \cup {[seq |-> x.seq, gen |-> x.gen, keys |-> KeysOf(x.fresh)]},
    !.top = IF x.fresh = {} THEN @ ELSE x.seq]

\* I1 at the commit of what is presumed fresh.
FreshTwice(d, x) == IF KeysOf(x.fresh) \cap d.effects # {} THEN {"twice"} ELSE {}
\* I1 of what was called a duplicate, when that was judged for the last time.
FalseDuplicate(x) == IF KeysOf(x.dups) \ db.effects # {} THEN {"lost"} ELSE {}

-----------------------------------------------------------------------------
(* The window. *)

\* LogStore::join and read_to_end: all that is listed, up to the end of the log.
Load(w) ==
    /\ tx[w].pc = "idle" /\ ~MyWindow(w).on
    /\ SetWindow(w, [on |-> TRUE,
         known |-> UNION {{b.gen} \X b.keys : b \in db.log}
                   \cup UNION {{s.gen} \X s.keys : s \in db.segments},
         last |-> Max({b.seq : b \in db.log} \cup {db.floor}),
         gen |-> db.gen, evictions |-> db.evictions])
    /\ SetTx(w, [tx[w] EXCEPT !.must = FALSE])
    /\ UNCHANGED <<db, standby, orphans, sealing, budget, seen>>

\* judge() in dedup/claims/log/log_window.cc: memory and log do not fit together any more.
Gone(x) ==
    \/ x.last < db.floor
    \/ "evictions_not_compared" \notin Broken /\ x.evictions # db.evictions

\* What a reading finds of a log: of the window's generation and later ones, above `last`.
News(x, log) == {b \in log : b.seq > x.last /\ b.gen >= x.gen}
TakeIn(x, batches) == [x EXCEPT
    !.known = @ \cup UNION {{b.gen} \X b.keys : b \in batches},
    !.last = Max({@} \cup {b.seq : b \in batches})]

\* LogStore::catch_up, read_on: reads on, through generations that were sealed meanwhile. What is
\* older than all that is listed is forgotten (forget_before). What has become a segment, alone or
\* with others, is remembered as that, but only once in a while (follow_segments, put_segment).
CatchUp(w) ==
    LET x == MyWindow(w)
        read == TakeIn([x EXCEPT !.gen = db.gen], News(x, db.log))
        kept == {e \in read.known : e[1] >= Min(db.listed)} IN
    /\ tx[w].pc = "idle" /\ x.on
    /\ \E follows \in BOOLEAN :
         IF Gone(x) THEN SetWindow(w, NoWindow) ELSE
         SetWindow(w, [read EXCEPT !.known = IF ~follows THEN kept ELSE
             {e \in kept : \A s \in db.segments : e[1] < s.gen \/ e[1] > s.last}
             \cup UNION {{s.gen} \X s.keys : s \in db.segments}])
    /\ SetTx(w, [tx[w] EXCEPT !.must = FALSE])
    /\ UNCHANGED <<db, standby, orphans, sealing, budget, seen>>

-----------------------------------------------------------------------------
(* A batch's transaction. *)

Batch(w, n) == {m \in Messages : m[1] = w /\ db.next[w] <= m[2] /\ m[2] < db.next[w] + n}
FirstOfKey(ms, k) == CHOOSE m \in ms : Key(m) = k /\ \A n \in ms : Key(n) = k => m[2] <= n[2]

\* What neighbours in the process are about to claim (ClaimsUnderWay).
UnderWay(w) == UNION {KeysOf(tx[v].fresh) :
    v \in {v \in Workers \ {w} : Process[v] = Process[w] /\ tx[v].pc # "idle"}}

\* The fence is held (Fence.tla), memory is asked, and the sink's rows are written: what memory does
\* not know is presumed fresh. What a neighbour is about to claim may be taken for a duplicate.
Begin(w) ==
    LET x == MyWindow(w) IN
    /\ tx[w].pc = "idle" /\ x.on /\ ~tx[w].must
    /\ \A o \in orphans : o.worker # w
    /\ \E n \in 1..MaxRead, relies \in BOOLEAN :
         LET ms == Batch(w, n)
             rely == IF relies THEN (KeysOf(ms) \cap UnderWay(w)) \ KnownKeys(x) ELSE {}
             fresh == KeysOf(ms) \ (KnownKeys(x) \cup rely) IN
         /\ Cardinality(ms) = n
         /\ relies => rely # {}
         /\ SetTx(w, [NoTx EXCEPT !.pc = "rows", !.end = db.next[w] + n,
                !.fresh = {FirstOfKey(ms, k) : k \in fresh},
                !.dups = {m \in ms : Key(m) \in KnownKeys(x) \cup rely}, !.rely = rely])
    /\ UNCHANGED <<db, standby, window, orphans, sealing, budget, seen>>

\* Rolled back, to be done again. `must`: the log is read first.
Again(w, must) == SetTx(w, [NoTx EXCEPT !.must = must])

\* LogStore::confirm, wait_for_reliance: the neighbour has ended, and the window has its claim.
Relies(w) == tx[w].rely \subseteq KnownKeys(MyWindow(w)) /\ tx[w].rely \cap UnderWay(w) = {}

\* Nothing is appended, so nothing is waited for (settle_duplicates, log_evictions.sql).
SettleDuplicates(w) ==
    LET x == tx[w] IN
    /\ x.pc = "rows" /\ x.fresh = {}
    /\ IF ~Relies(w) THEN Again(w, FALSE) /\ UNCHANGED <<window, seen>>
       ELSE IF MyWindow(w).evictions # db.evictions /\ "evictions_not_compared" \notin Broken
       THEN /\ Again(w, TRUE)
            /\ SetWindow(w, NoWindow)
            /\ UNCHANGED seen
       ELSE /\ SetTx(w, [x EXCEPT !.pc = "commit"])
            /\ seen' = seen \cup FalseDuplicate(x)
            /\ UNCHANGED window
    /\ UNCHANGED <<db, standby, orphans, sealing, budget>>

\* A mutant's statement, which locks and looks at once: its snapshot is from before the lock.
AskForLock(w) ==
    /\ "news_read_with_the_lock" \in Broken
    /\ tx[w].pc = "rows" /\ tx[w].fresh # {} /\ tx[w].snapshot = <<>>
    /\ SetTx(w, [tx[w] EXCEPT !.snapshot = <<db.log>>])
    /\ UNCHANGED <<db, standby, window, orphans, sealing, budget, seen>>

\* LogStore::append: the lock (log_lock.sql), then in a statement of its own the look
\* (log_look.sql), then the row (log_append.sql); and the COMMIT is sent, or all is rolled back.
Settle(w) ==
    LET x == tx[w]
        mine == MyWindow(w)
        log == IF x.snapshot = <<>> THEN db.log ELSE x.snapshot[1]
        after == TakeIn(mine, {b \in News(mine, log) : b.gen = mine.gen}) IN
    /\ x.pc = "rows" /\ x.fresh # {}
    /\ "news_read_with_the_lock" \in Broken => x.snapshot # <<>>
    /\ LockFree
    /\ IF ~Relies(w) THEN Again(w, FALSE) /\ UNCHANGED <<window, seen>>
       ELSE IF Gone(mine) THEN Again(w, TRUE) /\ SetWindow(w, NoWindow) /\ UNCHANGED seen
       ELSE /\ SetWindow(w, after)
            /\ IF mine.gen # db.gen THEN Again(w, TRUE) /\ UNCHANGED seen
               ELSE IF KeysOf(x.fresh) \cap KnownKeys(after) # {}
               THEN Again(w, FALSE) /\ UNCHANGED seen
               ELSE /\ SetTx(w, [x EXCEPT !.pc = "commit", !.seq = db.top + 1, !.gen = mine.gen,
                                          !.snapshot = <<>>])
                    /\ seen' = seen \cup FalseDuplicate(x)
    /\ UNCHANGED <<db, standby, orphans, sealing, budget>>

Decide(w) ==
    /\ tx[w].pc = "commit"
    /\ db' = Apply(db, w, tx[w])
    /\ seen' = seen \cup FreshTwice(db, tx[w])
    /\ SetTx(w, [tx[w] EXCEPT !.pc = "committed"])
    /\ UNCHANGED <<standby, window, orphans, sealing, budget>>

\* LogStore::committed: only now my own claims enter the window.
Answer(w) ==
    LET x == tx[w]
        mine == MyWindow(w) IN
    /\ x.pc = "committed"
    /\ SetTx(w, NoTx)
    /\ IF x.fresh = {} \/ ~mine.on THEN UNCHANGED window
       ELSE SetWindow(w, TakeIn(mine, {[seq |-> x.seq, gen |-> x.gen, keys |-> KeysOf(x.fresh)]}))
    /\ UNCHANGED <<db, standby, orphans, sealing, budget, seen>>

-----------------------------------------------------------------------------
(* Rotation, segments, eviction, purge: under the same lock. *)

\* rotate_ledger() in schemas/migrations/001_initial/05_generations.up.sql.
Rotate ==
    /\ LockFree \/ "sealed_without_the_lock" \in Broken
    /\ budget.rotations > 0 /\ \E b \in db.log : b.gen = db.gen
    /\ db' = [db EXCEPT !.gen = @ + 1, !.listed = @ \cup {db.gen + 1}]
    /\ budget' = [budget EXCEPT !.rotations = @ - 1]
    /\ UNCHANGED <<standby, window, tx, orphans, sealing, seen>>

\* Sealing::begin and read, in dedup/retention/sealing.cc: no lock.
BeginSegment ==
    /\ sealing = <<>>
    /\ \E g \in db.listed \ ({db.gen} \cup {s.gen : s \in db.segments}) :
         sealing' = <<[gen |-> g, last |-> g, evictions |-> db.evictions,
                       keys |-> UNION {b.keys : b \in {b \in db.log : b.gen = g}}]>>
    /\ UNCHANGED <<db, standby, window, tx, orphans, budget, seen>>

\* Merger::Merge in dedup/retention/merging.cc: two neighbours whose logs are gone. The first of
\* their generations stands for both.
BeginMerge ==
    /\ sealing = <<>> /\ budget.merges > 0
    /\ \E s, t \in db.segments :
         /\ s.last < t.gen /\ \A g \in db.listed : g <= s.gen \/ g >= t.gen
         /\ \A b \in db.log : b.gen < s.gen \/ b.gen > t.last
         /\ sealing' = <<[gen |-> s.gen, last |-> t.last, evictions |-> db.evictions,
                keys |-> IF "merged_without_the_last_segment" \in Broken THEN s.keys
                         ELSE s.keys \cup t.keys]>>
    /\ budget' = [budget EXCEPT !.merges = @ - 1]
    /\ UNCHANGED <<db, standby, window, tx, orphans, seen>>

\* publish_merge(). DANGER: with the last one for both, the first would be no longer listed, and
\* be forgotten by a window that has not looked for segments since.
PublishMerge(s) ==
    LET members == {t \in db.segments : s.gen <= t.gen /\ t.gen <= s.last}
        stands == IF "merged_into_the_last_generation" \in Broken
                  THEN Max({t.gen : t \in members}) ELSE s.gen IN
    IF s.evictions # db.evictions \/ Cardinality(members) # 2 THEN UNCHANGED db
    ELSE db' = [db EXCEPT
        !.segments = (@ \ members) \cup {[gen |-> stands, last |-> s.last, keys |-> s.keys]},
        !.listed = @ \ ({t.gen : t \in members} \ {stands})]

\* publish_segment(): the floor rises to the segment's end. Refused if the generation or a claim in
\* it went meanwhile.
Publish ==
    /\ sealing # <<>> /\ LockFree
    /\ sealing' = <<>>
    /\ LET s == sealing[1] IN
       IF s.gen # s.last THEN PublishMerge(s) ELSE
       IF s.gen \notin db.listed
          \/ (s.evictions # db.evictions /\ "segment_with_evicted_claims" \notin Broken)
       THEN UNCHANGED db
       ELSE db' = [db EXCEPT
            !.segments = @ \cup {[gen |-> s.gen, last |-> s.gen, keys |-> s.keys]},
            !.floor = Max({@} \cup {b.seq : b \in {b \in db.log : b.gen = s.gen}})]
    /\ UNCHANGED <<standby, window, tx, orphans, budget, seen>>

\* drop_sealed_log(), in a transaction after the one that published.
DropLog ==
    /\ \E s \in db.segments :
         /\ \E b \in db.log : b.gen = s.gen
         /\ db' = [db EXCEPT !.log = {b \in @ : b.gen # s.gen}]
    /\ UNCHANGED <<standby, window, tx, orphans, sealing, budget, seen>>

\* `onceward forget`, schemas/queries/operator/evict_claims.sql: the key may be applied again.
Evict ==
    /\ budget.evictions > 0 /\ LockFree
    /\ \E k \in db.effects :
         db' = [db EXCEPT
            !.log = {[b EXCEPT !.keys = @ \ {k}] : b \in @},
            !.segments = {[s EXCEPT !.keys = @ \ {k}] : s \in @},
            !.effects = @ \ {k}, !.evictions = @ + 1]
    /\ budget' = [budget EXCEPT !.evictions = @ - 1]
    /\ UNCHANGED <<standby, window, tx, orphans, sealing, seen>>

\* unlist_expired() in schemas/migrations/001_initial/10_retention.up.sql. Retention.tla is about
\* when; here it is when no message that is still to come has a key of the generation.
KeysOfGen(g) == UNION ({b.keys : b \in {b \in db.log : b.gen = g}}
                       \cup {s.keys : s \in {s \in db.segments : s.gen = g}})
Purge ==
    /\ budget.purges > 0 /\ LockFree
    /\ \E g \in db.listed \ {db.gen} :
         /\ \A m \in Messages : m[2] >= db.next[m[1]] => Key(m) \notin KeysOfGen(g)
         /\ db' = [db EXCEPT
            !.listed = @ \ {g},
            !.floor = Max({@} \cup {b.seq : b \in {b \in db.log : b.gen = g}}),
            !.log = {b \in @ : b.gen # g},
            !.segments = {s \in @ : s.gen # g}]
    /\ budget' = [budget EXCEPT !.purges = @ - 1]
    /\ UNCHANGED <<standby, window, tx, orphans, sealing, seen>>

-----------------------------------------------------------------------------
(* What goes wrong. *)

PassingError(w) ==
    /\ tx[w].pc = "rows"
    /\ Again(w, FALSE)
    /\ UNCHANGED <<db, standby, window, orphans, sealing, budget, seen>>

Forgotten(x) == IF "window_kept_over_a_reconnect" \in Broken THEN x ELSE NoWindow

\* LogStore::connection_lost: a kill, or a lost connection. Memory ends with the session.
Lose(w) ==
    /\ budget.losses > 0
    /\ tx[w].pc # "idle" \/ MyWindow(w).on
    /\ orphans' = IF tx[w].pc = "commit" THEN orphans \cup {[worker |-> w] @@ tx[w]} ELSE orphans
    /\ SetTx(w, [NoTx EXCEPT !.must = TRUE])
    /\ SetWindow(w, Forgotten(MyWindow(w)))
    /\ budget' = [budget EXCEPT !.losses = @ - 1]
    /\ UNCHANGED <<db, standby, sealing, seen>>

OrphanCommits == \E o \in orphans :
    /\ db' = Apply(db, o.worker, o)
    /\ seen' = seen \cup FreshTwice(db, o)
    /\ orphans' = orphans \ {o}
    /\ UNCHANGED <<standby, window, tx, sealing, budget>>

OrphanRollsBack == \E o \in orphans :
    /\ orphans' = orphans \ {o}
    /\ UNCHANGED <<db, standby, window, tx, sealing, budget, seen>>

Detach ==
    /\ standby = <<>> /\ budget.failovers > 0
    /\ standby' = <<db>>
    /\ UNCHANGED <<db, window, tx, orphans, sealing, budget, seen>>

FailOver ==
    /\ standby # <<>>
    /\ db' = standby[1]
    /\ standby' = <<>>
    /\ window' = [p \in Processes |-> Forgotten(window[p])]
    /\ tx' = [w \in Workers |-> [NoTx EXCEPT !.must = TRUE]]
    /\ orphans' = {}
    /\ sealing' = <<>>
    /\ budget' = [budget EXCEPT !.failovers = @ - 1]
    /\ UNCHANGED seen

Next ==
    \/ \E w \in Workers :
        \/ Load(w) \/ CatchUp(w) \/ Begin(w) \/ SettleDuplicates(w) \/ AskForLock(w) \/ Settle(w)
        \/ Decide(w) \/ Answer(w) \/ PassingError(w) \/ Lose(w)
    \/ Rotate \/ BeginSegment \/ BeginMerge \/ Publish \/ DropLog \/ Evict \/ Purge
    \/ OrphanCommits \/ OrphanRollsBack \/ Detach \/ FailOver

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold. *)

I1_NothingTwice == "twice" \notin seen
I1_NoFalseDuplicate == "lost" \notin seen

\* Also after a fail-over (I7). An evicted key may have no effect any more.
I3_NothingMissing == budget.evictions = MaxEvictions =>
    \A m \in Messages : m[2] < db.next[m[1]] => Key(m) \in db.effects

\* Each effect's claim is in what the ledger lists, as long as somebody may need it.
Claimed == UNION ({b.keys : b \in db.log} \cup {s.keys : s \in db.segments})
I6_EffectHasClaim == \A k \in db.effects : k \in Claimed \/
    \A m \in Messages : m[2] >= db.next[m[1]] => Key(m) # k
I6_ClaimHasEffect == Claimed \subseteq db.effects

=============================================================================
