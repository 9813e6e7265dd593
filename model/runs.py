"""What `model/run` checks: each model without a change, and each guard that is taken out of it.

A run is (module, constants, invariants, symmetric). A mutant changes some constants of a run, and
names the one invariant that has to be violated. Values that begin with '<-' are defined in the
module itself.
"""

WORKERS = "{w1, w2, w3}"

FENCE = ["I1_NothingTwice", "I2_KafkaNotAhead", "I3_NothingMissing", "I4_NoMissedRowCommits",
         "I5_OneOwner", "I6_ClaimAndEffect", "I16_Totals", "F20_NoCircle"]
LOG = ["I1_NothingTwice", "I1_NoFalseDuplicate", "I3_NothingMissing", "I6_EffectHasClaim",
       "I6_ClaimHasEffect"]
PARTITION_LOG = ["I1_NothingTwice", "I1_NoFalseDuplicate", "I3_NothingMissing",
                 "I6_ClaimAndEffect"]
RETENTION = ["I8_NothingTwice", "I1_NothingRefusedInTime", "I3_NothingMissing"]
LEASE = ["I9_CallsAreRecorded", "I9_OneHolder", "I9_AHeldLeaseStays",
         "I9_CalledOnceWithoutTheKey", "I1_AppliedOnce", "I3_PassedHasEnded",
         "I16_PassedIsCounted"]
RELAY = ["I10_NothingLost", "I10_InOrder", "I10_AgainOnlyAfterAFault"]


def fence(**changes):
    constants = {"Workers": WORKERS, "Log": "<- OneWithDuplicate", "MaxRead": 1, "MaxLosses": 2,
                 "MaxFailOvers": 0, "MaxDropped": 0, "MaxSwallowed": 0}
    return "FenceRuns.tla", {**constants, **changes}, FENCE, True


def log(**changes):
    constants = {"w1": "w1", "w2": "w2", "w3": "w3", "Workers": WORKERS, "Log": "<- Three",
                 "Process": "<- OwnProcess", "MaxRead": 1, "MaxLosses": 2, "MaxFailOvers": 0,
                 "MaxRotations": 0, "MaxEvictions": 0, "MaxPurges": 0, "MaxMerges": 0}
    return "LogLedgerRuns.tla", {**constants, **changes}, LOG, False


def partition_log(**changes):
    constants = {"Workers": WORKERS, "Log": "<- OneWithDuplicates", "MaxRead": 2, "MaxLosses": 2,
                 "MaxFailOvers": 1}
    return "PartitionLogRuns.tla", {**constants, **changes}, PARTITION_LOG, True


def retention(**changes):
    constants = {"Partitions": "{p1, p2}", "Keys": "{k1}", "Retention": 1, "LastTick": 4,
                 "MaxMessages": 3, "MaxGenerations": 2, "MaxFailOvers": 0, "MintedAt": "FALSE",
                 "MaxReplays": 0}
    return "RetentionRuns.tla", {**constants, **changes}, RETENTION, True


def lease(**changes):
    constants = {"Way": '"topic"', "Honours": "TRUE", "Workers": WORKERS,
                 "Log": "<- WithDuplicate", "MaxLosses": 2, "MaxExpiries": 1, "MaxTries": 2}
    return "LeaseRuns.tla", {**constants, **changes}, LEASE, True


def relay(**changes):
    constants = {"Relays": "{r1, r2}", "Rows": 2, "MaxFaults": 2, "MaxRefused": 1}
    return "Relay.tla", {**constants, **changes}, RELAY, False


RUNS = {
    "fence: a partition, 3 messages": fence(),
    "fence: every fault": fence(Log="<- ShortWithDuplicate", MaxFailOvers=1, MaxDropped=1,
                                MaxSwallowed=1),
    "fence: batches of two": fence(Log="<- OnePartition", MaxRead=2),
    "fence: two partitions": fence(Log="<- TwoPartitions", Workers="{w1, w2}"),
    "log: 3 processes": log(),
    "log: a fail-over": log(MaxLosses=1, MaxFailOvers=1),
    "log: workers of one process": log(Process="<- SharedProcess", MaxLosses=1),
    "log: segments, a purge": log(Log="<- Small", MaxLosses=1, MaxRotations=1, MaxPurges=1),
    "log: segments, an eviction": log(Log="<- Small", MaxLosses=0, MaxRotations=1,
                                      MaxEvictions=1),
    "log: merged segments": log(Log="<- Small", MaxLosses=1, MaxRotations=2, MaxMerges=1),
    "log: merged segments, an eviction": log(Log="<- Small", MaxLosses=0, MaxRotations=2,
                                             MaxMerges=1, MaxEvictions=1),
    "log: merged segments, a purge": log(Log="<- Small", MaxLosses=0, MaxRotations=2,
                                         MaxMerges=1, MaxPurges=1),
    "log of a partition": partition_log(),
    "retention": retention(),
    "retention: a fail-over": retention(LastTick=3, MaxMessages=2, MaxFailOvers=1),
    "retention: keys with a time": retention(MintedAt="TRUE"),
    "retention: a replay": retention(LastTick=3, MaxReplays=1, MaxMessages=2),
    "lease: a topic, a duplicate": lease(),
    "lease: a topic, 3 keys": lease(Log="<- ThreeKeys", MaxLosses=0, Workers="{w1, w2}"),
    "lease: a route that honours the key": lease(Way='"route"', Log="<- TwoKeys"),
    "lease: a route that does not": lease(Way='"route"', Honours="FALSE", Log="<- TwoKeys"),
    "relay": relay(),
}

# Name: the run that it changes, the invariant, and the invariant that has to be violated.
MUTANTS = {
    "no_fence_check": (fence(), "I16_Totals"),
    "owner_checked_but_not_the_offset": (fence(MaxDropped=1), "I3_NothingMissing"),
    "start_from_memory": (fence(MaxDropped=1), "I3_NothingMissing"),
    "commit_tag_not_looked_at": (fence(MaxSwallowed=1), "I2_KafkaNotAhead"),
    "offset_before_commit": (fence(), "I2_KafkaNotAhead"),
    "text_keys_cut_at_nul": (fence(Log="<- OnePartition"), "I3_NothingMissing"),
    "unsorted_batch": (fence(Log="<- Crossed", MaxRead=2, Workers="{w1, w2}"), "F20_NoCircle"),
    "select_to_resolve_a_lost_commit": (fence(), "I2_KafkaNotAhead"),
    "purge_by_wall_clock": (retention(), "I8_NothingTwice"),
    "window_kept_over_a_reconnect": (log(MaxFailOvers=1), "I1_NoFalseDuplicate"),
    "news_read_with_the_lock": (log(), "I1_NothingTwice"),
    "sealed_without_the_lock": (log(MaxRotations=1), "I1_NothingTwice"),
    "merged_without_the_last_segment": (log(Log="<- Merging", MaxLosses=1, MaxRotations=2,
                                            MaxMerges=1), "I6_EffectHasClaim"),
    "window_read_before_the_take_over": (partition_log(), "I1_NothingTwice"),
    "ended_by_a_stale_owner": (lease(), "I9_AHeldLeaseStays"),
    "extended_by_a_stale_owner": (lease(MaxTries=3), "I9_OneHolder"),
    "released_by_a_stale_owner": (lease(), "I9_AHeldLeaseStays"),
    "relay_without_the_leader_lock": (relay(), "I10_AgainOnlyAfterAFault"),
    "row_deleted_before_kafkas_answer": (relay(), "I10_NothingLost"),
    "replay_without_its_claims": (retention(MaxReplays=1), "I8_NothingTwice"),
    "late_key_is_claimed": (retention(MintedAt="TRUE"), "I8_NothingTwice"),
    # No build of the product has these; the danger lines of its code and statements do.
    "evictions_not_compared": (log(Log="<- Small", MaxLosses=0, MaxEvictions=1),
                               "I1_NoFalseDuplicate"),
    "segment_with_evicted_claims": (log(Log="<- Small", MaxLosses=0, MaxRotations=1,
                                        MaxEvictions=1), "I6_ClaimHasEffect"),
    "merged_into_the_last_generation": (log(Log="<- Merging", MaxLosses=0, MaxRotations=2,
                                            MaxMerges=1), "I1_NothingTwice"),
    "watermark_before_the_fence": (retention(), "I8_NothingTwice"),
    "open_replay_not_counted": (retention(MaxReplays=1), "I8_NothingTwice"),
}
