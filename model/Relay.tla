-------------------------------- MODULE Relay --------------------------------
(***************************************************************************)
(* The outbox: rows that are committed with their messages, relays of      *)
(* which one leads, Kafka's answers, and the rows' deletion.               *)
(*                                                                         *)
(* Faults (docs/faults.md): F1 a kill between any two steps; F2 a frozen   *)
(* relay; F7 a record that Kafka does not get; F15 and F16 a session that  *)
(* ends, and a deletion in doubt.                                          *)
(* Invariants: I10: each row reaches Kafka at least once, in order, and a  *)
(* row is sent again only after a fault.                                   *)
(*                                                                         *)
(* All rows have one record key. The id is the row's own number, as it     *)
(* comes from the message's coordinates (sinks/outbox).                    *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Relays,
    Rows,           \* how many rows there are
    MaxFaults,      \* sessions and processes that end
    MaxRefused,     \* records that Kafka does not take
    Broken

VARIABLES
    rows,       \* what is in the table
    written,    \* how many were committed so far
    kafka,      \* what arrived, in its order
    leader,     \* whose session holds the leader's lock (outbox_leader.sql), or none
    relay,      \* what each relay has read, sent and heard
    faults, refused

vars == <<rows, written, kafka, leader, relay, faults, refused>>

Nobody == "nobody"
Blank == [leads |-> FALSE, book |-> <<>>, flight |-> <<>>, heard |-> {}]

Init ==
    /\ rows = {} /\ written = 0 /\ kafka = <<>>
    /\ leader = Nobody
    /\ relay = [r \in Relays |-> Blank]
    /\ faults = 0 /\ refused = 0

Set(r, x) == relay' = [relay EXCEPT ![r] = x]

\* A batch commits with its rows.
Commit ==
    /\ written < Rows
    /\ written' = written + 1
    /\ rows' = rows \cup {written + 1}
    /\ UNCHANGED <<kafka, leader, relay, faults, refused>>

\* Relay::serve.
Lead(r) ==
    /\ ~relay[r].leads /\ relay[r].flight = <<>>
    /\ leader = Nobody \/ "relay_without_the_leader_lock" \in Broken
    /\ leader' = r
    /\ Set(r, [Blank EXCEPT !.leads = TRUE])
    /\ UNCHANGED <<rows, written, kafka, faults, refused>>

RECURSIVE Sorted(_)
Sorted(s) == IF s = {} THEN <<>> ELSE
    LET least == CHOOSE x \in s : \A y \in s : x <= y IN <<least>> \o Sorted(s \ {least})
InSeq(q) == {q[i] : i \in 1..Len(q)}

\* Leader::read, outbox_waiting.sql: what is waiting and not in the book yet.
Read(r) ==
    LET x == relay[r]
        new == rows \ (InSeq(x.book) \cup InSeq(x.flight) \cup x.heard) IN
    /\ x.leads /\ new # {}
    /\ Set(r, [x EXCEPT !.book = @ \o Sorted(new)])
    /\ UNCHANGED <<rows, written, kafka, leader, faults, refused>>

\* Leader::send: into the producer, whose records of one key are delivered in order.
Send(r) ==
    LET x == relay[r] IN
    /\ x.leads /\ x.book # <<>>
    /\ Set(r, [x EXCEPT !.book = Tail(@), !.flight = Append(@, Head(x.book)),
         !.heard = IF "row_deleted_before_kafkas_answer" \in Broken
                   THEN @ \cup {Head(x.book)} ELSE @])
    /\ UNCHANGED <<rows, written, kafka, leader, faults, refused>>

\* Kafka takes the record, and says so.
Deliver(r) ==
    LET x == relay[r] IN
    /\ x.flight # <<>>
    /\ kafka' = Append(kafka, Head(x.flight))
    /\ Set(r, [x EXCEPT !.flight = Tail(@),
                        !.heard = IF x.leads THEN @ \cup {Head(x.flight)} ELSE @])
    /\ UNCHANGED <<rows, written, leader, faults, refused>>

\* Kafka does not take it; the record's key is held back, and all of it is read again.
Refuse(r) ==
    LET x == relay[r] IN
    /\ x.flight # <<>> /\ refused < MaxRefused
    /\ refused' = refused + 1
    /\ Set(r, [x EXCEPT !.flight = <<>>, !.book = <<>>])
    /\ UNCHANGED <<rows, written, kafka, leader, faults>>

\* Leader::delete_sent, outbox_sent.sql: only what Kafka has answered.
Delete(r) ==
    LET x == relay[r] IN
    /\ x.leads /\ x.heard # {}
    /\ rows' = rows \ x.heard
    /\ Set(r, [x EXCEPT !.heard = {}])
    /\ UNCHANGED <<written, kafka, leader, faults, refused>>

\* The session ends, or the process: the lock goes, and so does all that the relay knew. What the
\* producer has may still arrive, at any later time; a deletion that was sent may have happened.
End(r) ==
    LET x == relay[r] IN
    /\ x.leads /\ faults < MaxFaults
    /\ faults' = faults + 1
    /\ leader' = IF leader = r THEN Nobody ELSE leader
    /\ Set(r, [Blank EXCEPT !.flight = x.flight])
    /\ rows' \in {rows, rows \ x.heard}
    /\ UNCHANGED <<written, kafka, refused>>

\* A producer ends with its process.
Gone(r) ==
    /\ ~relay[r].leads /\ relay[r].flight # <<>>
    /\ Set(r, Blank)
    /\ UNCHANGED <<rows, written, kafka, leader, faults, refused>>

Next ==
    \/ Commit
    \/ \E r \in Relays : Lead(r) \/ Read(r) \/ Send(r) \/ Deliver(r) \/ Refuse(r) \/ Delete(r)
                         \/ End(r) \/ Gone(r)

Spec == Init /\ [][Next]_vars

Arrived == InSeq(kafka)
\* What is not in the table any more is in Kafka.
I10_NothingLost == \A n \in 1..written : n \in rows \/ n \in Arrived
\* Nothing arrives before what was committed before it under the same key has arrived.
I10_InOrder == \A i \in 1..Len(kafka) : \A n \in 1..(kafka[i] - 1) :
    \E j \in 1..i : kafka[j] = n
Copies(n) == Cardinality({i \in 1..Len(kafka) : kafka[i] = n})
I10_AgainOnlyAfterAFault == \A n \in 1..Rows : Copies(n) <= 1 + faults

=============================================================================
