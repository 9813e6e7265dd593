------------------------------ MODULE LeaseRuns ------------------------------
\* Values for the constants of Lease that a configuration file cannot write down.
EXTENDS Lease
Symmetry == Permutations(Workers)
WithDuplicate == <<1, 2, 1>>
TwoKeys == <<1, 2>>
ThreeKeys == <<1, 2, 3>>
=============================================================================
