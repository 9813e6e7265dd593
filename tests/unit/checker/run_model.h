#pragma once
// A run without faults, made up: messages go into a log, transactions of a perfect worker take them
// out, and the evidence is what such a run leaves. Tests break it afterwards. Used by one
// thread.

#include <map>
#include <string>
#include <utility>

#include "tests/faults/checker/checks.h"

namespace onceward::checker {

class RunModel {
  public:
    explicit RunModel(std::vector<TopicSettings> topics);

    // A message at the end of a partition. Answers with its place among Evidence::produced.
    std::size_t produce(PartitionName name, Nature nature, const std::string& key,
                        const std::string& target = "");
    // One that is aborted, and the control record after it: two gaps.
    void abort(PartitionName name);
    // A take-over by a new session, as after a rebalance.
    void take(PartitionName name);
    // One transaction that passes up to `most` messages; takes the fence first where nobody has.
    void pass(PartitionName name, int most);
    // Every partition to its end, in transactions of that size, in turn.
    void pass_all(int most);

    std::int64_t& clock_us() { return clock_us_; }
    Evidence evidence;

  private:
    FenceMove& move(Fence& fence);
    Fence& fence(PartitionName name);
    PartitionLog& log(PartitionName name);
    void settle(const ProducedMessage& message, Transaction transaction, Totals& counted);
    void apply(const ProducedMessage& message, Transaction transaction);
    void reject(const ProducedMessage& message, Transaction transaction);

    std::map<std::pair<std::string, std::string>, std::string> applied_;  // key -> fingerprint
    std::map<PartitionName, int> sessions_;
    std::int64_t clock_us_ = 1'000'000;
    Transaction transactions_ = 700;
    std::int64_t landed_ = 0;
    int owners_ = 0;
};

// Two topics that share an operation and a ledger, an upsert and a topic that skips; duplicates
// within and between partitions, poison, tombstones, aborted messages.
RunModel small_run();

// Whether a violation of that invariant is among them, and one whose text or places hold `part`.
bool holds(const Verdict& verdict, const std::string& invariant, const std::string& part = "");

}  // namespace onceward::checker
