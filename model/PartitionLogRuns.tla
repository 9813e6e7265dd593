--------------------------- MODULE PartitionLogRuns ---------------------------
\* Values for the constants of PartitionLog that a configuration file cannot write down.
EXTENDS PartitionLog, TLC
Symmetry == Permutations(Workers)
OneWithDuplicates == <<1, 2, 1, 3>>
=============================================================================
