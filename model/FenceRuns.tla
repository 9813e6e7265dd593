------------------------------ MODULE FenceRuns ------------------------------
\* Values for the constants of Fence that a configuration file cannot write down.
EXTENDS Fence
Symmetry == Permutations(Workers)
OnePartition == <<<<1, 2, 3>>>>
OneWithDuplicate == <<<<1, 2, 1>>>>
ShortWithDuplicate == <<<<1, 1>>>>
TwoPartitions == <<<<1, 2>>, <<2>>>>
Crossed == <<<<1, 2>>, <<2, 1>>>>
ThreeKeys == <<<<1, 2>>, <<3, 1>>>>
=============================================================================
