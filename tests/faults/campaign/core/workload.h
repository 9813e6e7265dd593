#pragma once
// The messages of a seed: a pure function of its plan. The list of what was sent says what must
// become of each, for the checker.

#include <vector>

#include "tests/faults/campaign/core/draws.h"
#include "tests/faults/campaign/core/plan.h"
#include "tests/faults/checker/evidence.h"
#include "tests/support/scripted_log.h"

namespace onceward::campaign::core {

// The number that stands for a message in its row.
std::uint64_t message_id(int partition, std::int64_t offset);

class Workload {
  public:
    explicit Workload(const Plan& plan);
    // Puts the next wave of messages into the log. False where there is none.
    bool produce();
    // May be appended to while workers read it.
    const support::ScriptedLog& log() const { return log_; }
    // REQUIRES: nobody produces.
    const std::vector<checker::ProducedMessage>& sent() const { return sent_; }
    std::int64_t keys() const { return distinct_keys_; }

  private:
    struct Kind {
        checker::Nature nature = checker::Nature::good;
        support::LogEntry entry;
    };
    std::string new_key();
    Kind draw_message(std::string key);
    void send(int partition, std::string key);
    void send_mirrored();

    const Plan& plan_;
    Draws draws_;
    support::ScriptedLog log_;
    std::vector<checker::ProducedMessage> sent_;
    std::vector<std::string> wave_keys_;  // a duplicate repeats a key of its own wave
    // Where each of them was first sent, if none of them is sent in runs.
    std::vector<int> wave_partitions_;
    std::int64_t distinct_keys_ = 0;
    int waves_ = 0;
};

}  // namespace onceward::campaign::core
