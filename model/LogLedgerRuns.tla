---------------------------- MODULE LogLedgerRuns ----------------------------
\* Values for the constants of LogLedger that a configuration file cannot write down.
EXTENDS LogLedger
CONSTANTS w1, w2, w3
Each == w1 :> <<1, 2>> @@ w2 :> <<2>> @@ w3 :> <<3>>
Three == w1 :> <<1>> @@ w2 :> <<2, 1>> @@ w3 :> <<3>>
Small == w1 :> <<1>> @@ w2 :> <<1>> @@ w3 :> <<2>>
\* A key of each of two generations comes again.
Merging == w1 :> <<1>> @@ w2 :> <<2, 1>> @@ w3 :> <<2>>
OwnProcess == w1 :> "p1" @@ w2 :> "p2" @@ w3 :> "p3"
SharedProcess == w1 :> "p1" @@ w2 :> "p1" @@ w3 :> "p3"
=============================================================================
