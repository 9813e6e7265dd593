---------------------------- MODULE RetentionRuns ----------------------------
\* Values for the constants of Retention that a configuration file cannot write down.
EXTENDS Retention, TLC
Symmetry == Permutations(Partitions) \cup Permutations(Keys)
=============================================================================
