#pragma once
// Merges neighbouring segments of a ledger into one: reads their blocks, writes those of the merged
// segment and publishes it, which replaces them in one step. Run by the process that leads the
// ledger's retention. Exactness does not depend on it: until a process looks again, it knows the
// earlier segments, which hold the same claims. Used by one thread; failures are PostgresErrors and
// leave only what the next try discards.

#include <chrono>
#include <memory>

#include "dedup/postgres/connection.h"
#include "dedup/retention/leadership.h"
#include "dedup/retention/merge_plan.h"
#include "dedup/retention/sealing.h"

namespace onceward {

struct MergeReport {
    bool merged = false;
    bool under_way = false;       // the next step continues
    std::int64_t generation = 0;  // which stands for all of them
    int segments = 0;
    std::int64_t claims = 0;
};

// Merges one ledger's segments step by step, so that its caller can rotate and seal between two
// steps. Keeps the right to merge this ledger from the first step of a merge to its end.
class Merger {
  public:
    Merger(Connection& connection, int ledger, const SealingOptions& options);
    ~Merger();
    // Continues a merge for `time`, or begins one that is due. Drops what merges replaced, or left
    // when they were cut short. After a failure the next step begins from nothing. If one of the
    // segments expires meanwhile, nothing is merged, and that is no failure.
    MergeReport step(const MergeRule& rule, std::chrono::milliseconds time);

  private:
    class Merge;
    void drop_orphans();
    bool begin(const MergeRule& rule);
    MergeReport advance(const MergeRule& rule, std::chrono::milliseconds time);
    Connection& connection_;
    int ledger_;
    SealingOptions options_;
    std::unique_ptr<Leadership> leadership_;
    std::unique_ptr<Merge> merge_;  // under way
};

}  // namespace onceward
