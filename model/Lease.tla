-------------------------------- MODULE Lease --------------------------------
(***************************************************************************)
(* Effects outside PostgreSQL: the rows of the table `leases`, calls, and  *)
(* how they end. Way = "topic": a partition's messages, with its fence     *)
(* (dedup/leases). Way = "route": requests to an upstream                  *)
(* (gateway/to_upstream), which have no fence.                             *)
(*                                                                         *)
(* Faults (docs/faults.md): F1 a kill between any two steps, also around   *)
(* and within a call; F2 a worker that is frozen past its lease; F8 a      *)
(* partition that changes hands; F15 and F16 a lost connection, and a      *)
(* COMMIT whose answer is lost.                                            *)
(*                                                                         *)
(* Invariants: I9: calls are at most the recorded attempts; a stale owner  *)
(* changes nothing; at most one believes to hold a key. I1 and I16: each   *)
(* key is counted as applied at most once, and what the fence has passed   *)
(* has ended. Without `honours_key` a key is called at most once.          *)
(*                                                                         *)
(* The key of a call is made of the claim's key alone, so that here too    *)
(* each call has no other: nothing has to be checked. Time is one step,    *)
(* Expire: a lease runs out for its owner no later than for others, as the *)
(* owner reads its own clock before it asks. A COMMIT in doubt that has    *)
(* landed is a commit and a lost connection; one that has not is a lost    *)
(* connection. `once()` has no lease: it is Fence.tla without a fence.     *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    Way, Honours,   \* "topic" or "route"; whether an upstream honours the key
    Workers,
    Log,            \* the keys of the partition's messages, or of the requests
    MaxLosses,      \* kills and lost connections
    MaxExpiries, MaxTries,
    Broken

VARIABLES
    row,        \* of each key
    fence,
    worker,
    calls,      \* made so far, of each key
    applied,    \* how often each key was counted as applied
    budget

vars == <<row, fence, worker, calls, applied, budget>>

Keys == {Log[i] : i \in DOMAIN Log}
Messages == DOMAIN Log

\* Owners: a worker's name stands for its present token, Dead for one that nobody knows any more,
\* Zeros for a key that was given back.
Zeros == "zeros"
Dead == "dead"
Nobody == "nobody"
NoRow == [state |-> "none", owner |-> Zeros, live |-> FALSE, attempts |-> 0, place |-> 0,
          counted |-> FALSE]

\* held: whose lease has not run out, by the worker's own clock.
Blank == [at |-> 0, item |-> [m \in Messages |-> "none"], held |-> {}]

Init ==
    /\ row = [k \in Keys |-> NoRow]
    /\ fence = [owner |-> Nobody, next |-> 1]
    /\ worker = [w \in Workers |-> Blank]
    /\ calls = [k \in Keys |-> 0]
    /\ applied = [k \in Keys |-> 0]
    /\ budget = [losses |-> MaxLosses, expiries |-> MaxExpiries]

Set(w, x) == worker' = [worker EXCEPT ![w] = x]
Item(w, m, state) == Set(w, [worker[w] EXCEPT !.item[m] = state])

-----------------------------------------------------------------------------
(* The statements, schemas/queries/lease. *)

\* Whether the row is the worker's, as the statements compare it; a mutant does not.
Mine(w, k, mutant) ==
    row[k].state = "in_flight" /\ (row[k].owner = w \/ mutant \in Broken)

\* lease_claim.sql, lease_claim_request.sql: a new row, a released one, one of mine, or one whose
\* lease ended.
MayClaim(w, k) ==
    \/ row[k].state = "none"
    \/ row[k].owner = Zeros
    \/ row[k].state = "in_flight" /\ row[k].owner = w
    \/ row[k].state = "in_flight" /\ (Way = "topic" \/ Honours) /\ ~row[k].live

Claimed(w, m) == [row EXCEPT ![Log[m]] =
    [state |-> "in_flight", owner |-> w, live |-> TRUE, attempts |-> @.attempts + 1,
     place |-> m, counted |-> FALSE]]

-----------------------------------------------------------------------------
(* The worker. *)

FenceMine(w) == fence.owner = w /\ fence.next = worker[w].at

\* Fences::take_over, and all that is left of the partition is read. A request just begins.
Begin(w) ==
    /\ worker[w].at = 0
    /\ IF Way = "topic"
       THEN /\ fence.next <= Len(Log)
            /\ fence' = [fence EXCEPT !.owner = w]
            /\ Set(w, [Blank EXCEPT !.at = fence.next,
                 !.item = [m \in Messages |-> IF m >= fence.next THEN "open" ELSE "none"]])
       ELSE /\ \E m \in Messages : Set(w, [Blank EXCEPT !.at = 1, !.item[m] = "open"])
            /\ UNCHANGED fence
    /\ UNCHANGED <<row, calls, applied, budget>>

\* LeaseProcessor::claim, UpstreamSession::claim: a transaction of its own, which checks the fence
\* and leaves it where it is. In batch order, and one message after the other if they have the same
\* key.
Claim(w, m) ==
    LET k == Log[m]
        x == worker[w] IN
    /\ x.item[m] = "open"
    /\ \A n \in 1..(m - 1) : x.item[n] # "open"
         /\ (Log[n] = k => x.item[n] \in {"none", "written", "settled"})
    /\ row[k].attempts < MaxTries \/ ~MayClaim(w, k)
    /\ IF Way = "topic" /\ ~FenceMine(w)
       THEN Set(w, Blank) /\ UNCHANGED row
       ELSE IF MayClaim(w, k)
       THEN /\ row' = Claimed(w, m)
            /\ Set(w, [x EXCEPT !.item[m] = "ready", !.held = @ \cup {k}])
       ELSE /\ row[k].state = "done"
            /\ UNCHANGED row
            /\ IF Way = "route" THEN Set(w, Blank)  \* The stored answer, replayed.
               ELSE Item(w, m, IF row[k].place = m /\ ~row[k].counted
                               THEN "written" ELSE "settled")
    /\ UNCHANGED <<fence, calls, applied, budget>>

\* The call is made, one at a time. A worker that was frozen after it had compared its clock calls
\* late.
Call(w, m) ==
    /\ worker[w].item[m] = "ready"
    /\ \A n \in Messages : worker[w].item[n] # "called"
    /\ Item(w, m, "called")
    /\ calls' = [calls EXCEPT ![Log[m]] = @ + 1]
    /\ UNCHANGED <<row, fence, applied, budget>>

\* It did not get through. The next try is written down before it is made (lease_extend.sql); what
\* is not answered is mine no longer.
TryAgain(w, m) ==
    LET k == Log[m]
        x == worker[w] IN
    /\ Way = "topic" /\ x.item[m] = "called"
    /\ row[k].attempts < MaxTries
    /\ IF Mine(w, k, "extended_by_a_stale_owner")
       THEN /\ row' = [row EXCEPT ![k].live = TRUE, ![k].attempts = @ + 1]
            /\ Set(w, [x EXCEPT !.item[m] = "ready", !.held = @ \cup {k}])
       ELSE Item(w, m, "open") /\ UNCHANGED row
    /\ UNCHANGED <<fence, calls, applied, budget>>

End(w, m) ==
    /\ Way = "topic" /\ worker[w].item[m] = "called"
    /\ Item(w, m, "ended")
    /\ UNCHANGED <<row, fence, calls, applied, budget>>

Closed(state) == state \in {"none", "ended", "written", "settled"}

\* LeaseProcessor::write_ends_once, lease_finish.sql, lease_count.sql: the ends, and the fence over
\* the finished prefix. An end is written down also if the fence is somebody else's by now.
WriteEnds(w) ==
    LET x == worker[w]
        ended == {m \in Messages : x.item[m] = "ended"}
        lost == {m \in ended : ~Mine(w, Log[m], "ended_by_a_stale_owner")}
        prefix == {m \in Messages : x.at <= m /\ \A n \in x.at..m : Closed(x.item[n])}
        moves == prefix # {} /\ FenceMine(w)
        passed == IF moves THEN prefix ELSE {}
        counts(k) == \E m \in passed : Log[m] = k /\ x.item[m] \in {"ended", "written"}
        ends(k) == \E m \in ended : Log[m] = k IN
    /\ Way = "topic" /\ x.at > 0 /\ ended \cup prefix # {}
    /\ IF lost # {}
       THEN /\ Set(w, [x EXCEPT !.item = [m \in Messages |->
                                          IF m \in lost THEN "open" ELSE @[m]]])
            /\ UNCHANGED <<row, fence, applied>>
       ELSE /\ row' = [k \in Keys |-> IF ends(k)
                THEN [row[k] EXCEPT !.state = "done", !.counted = counts(k)]
                ELSE IF counts(k) THEN [row[k] EXCEPT !.counted = TRUE] ELSE row[k]]
            /\ applied' = [k \in Keys |-> applied[k] + Cardinality(
                {m \in passed : Log[m] = k /\ x.item[m] \in {"ended", "written"}})]
            /\ IF prefix # {} /\ ~moves
               THEN Set(w, Blank) /\ UNCHANGED fence
               ELSE LET next == x.at + Cardinality(passed) IN
                    /\ fence' = IF moves THEN [fence EXCEPT !.next = next] ELSE fence
                    /\ Set(w, IF next > Len(Log) THEN Blank ELSE [x EXCEPT !.at = next,
                         !.item = [m \in Messages |->
                            IF m \in passed THEN "none"
                            ELSE IF m \in ended THEN "written" ELSE @[m]],
                         !.held = @ \ {Log[m] : m \in ended}])
    /\ UNCHANGED <<calls, budget>>

GivenBack(k, state) == [row EXCEPT ![k].owner = Zeros, ![k].live = FALSE, ![k].state = state]

\* The partition leaves (lease_release.sql): a try that was recorded and not made is taken back.
Release(w, m) ==
    LET k == Log[m]
        x == worker[w] IN
    /\ Way = "topic" /\ x.item[m] = "ready"
    /\ row' = IF Mine(w, k, "released_by_a_stale_owner")
              THEN [GivenBack(k, "in_flight") EXCEPT ![k].attempts = @ - 1] ELSE row
    /\ Set(w, [x EXCEPT !.item[m] = "open", !.held = @ \ {k}])
    /\ UNCHANGED <<fence, calls, applied, budget>>

\* UpstreamSession::store and release: a final answer is stored; one that says that nothing took
\* effect frees the key (lease_release_request.sql); else it stays in flight until its lease ends,
\* and nobody knows its token any more: each request has its own (UpstreamSession::carry_out).
Respond(w, m) ==
    LET k == Log[m] IN
    /\ Way = "route" /\ worker[w].item[m] = "called"
    /\ \/ row' = IF Mine(w, k, "ended_by_a_stale_owner")
                 THEN [row EXCEPT ![k].state = "done", ![k].live = FALSE] ELSE row
       \/ row' = [row EXCEPT ![k].owner = IF @ = w THEN Dead ELSE @]
    /\ Set(w, Blank)
    /\ UNCHANGED <<fence, calls, applied, budget>>

\* The upstream could not be reached: nothing was sent.
Unreached(w, m) ==
    LET k == Log[m] IN
    /\ Way = "route" /\ worker[w].item[m] = "ready"
    /\ row' = IF Mine(w, k, "released_by_a_stale_owner") THEN GivenBack(k, "failed") ELSE row
    /\ Set(w, Blank)
    /\ UNCHANGED <<fence, calls, applied, budget>>

-----------------------------------------------------------------------------
(* What goes wrong. *)

\* A kill: its token is known to nobody any more. A lost connection: a topic's worker keeps its
\* token, and what it had begun is forgotten; a request's token is forgotten as well.
Lose(w, killed) ==
    /\ budget.losses > 0 /\ worker[w].at > 0
    /\ killed \/ Way = "topic"
    /\ Set(w, Blank)
    /\ row' = [k \in Keys |-> IF killed /\ row[k].owner = w
                              THEN [row[k] EXCEPT !.owner = Dead] ELSE row[k]]
    /\ fence' = [fence EXCEPT !.owner = IF @ = w THEN Nobody ELSE @]
    /\ budget' = [budget EXCEPT !.losses = @ - 1]
    /\ UNCHANGED <<calls, applied>>

\* A lease runs out, for all.
Expire(k) ==
    /\ budget.expiries > 0 /\ row[k].state = "in_flight" /\ row[k].live
    /\ row' = [row EXCEPT ![k].live = FALSE]
    /\ worker' = [w \in Workers |-> [worker[w] EXCEPT !.held = @ \ {k}]]
    /\ budget' = [budget EXCEPT !.expiries = @ - 1]
    /\ UNCHANGED <<fence, calls, applied>>

Next ==
    \/ \E w \in Workers :
        \/ Begin(w) \/ WriteEnds(w) \/ Lose(w, TRUE) \/ Lose(w, FALSE)
        \/ \E m \in Messages : Claim(w, m) \/ Call(w, m) \/ TryAgain(w, m) \/ End(w, m)
                               \/ Release(w, m) \/ Respond(w, m) \/ Unreached(w, m)
    \/ \E k \in Keys : Expire(k)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold. *)

I9_CallsAreRecorded == \A k \in Keys : calls[k] <= row[k].attempts
I9_OneHolder == \A k \in Keys : Cardinality({w \in Workers : k \in worker[w].held}) <= 1
\* Whose lease has not run out is the row's owner: nobody else has changed it.
I9_AHeldLeaseStays == \A w \in Workers : \A k \in worker[w].held :
    row[k].state = "in_flight" /\ row[k].owner = w
I9_CalledOnceWithoutTheKey == Way = "route" /\ ~Honours => \A k \in Keys : calls[k] <= 1
I1_AppliedOnce == \A k \in Keys : applied[k] <= 1
I3_PassedHasEnded == \A m \in 1..(fence.next - 1) : row[Log[m]].state = "done"
I16_PassedIsCounted == \A m \in 1..(fence.next - 1) : applied[Log[m]] = 1

=============================================================================
