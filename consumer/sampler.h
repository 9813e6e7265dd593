#pragma once
// Reads parts of a log without joining the group and without moving anything, for `onceward check
// --sample` and `offsets skip`. Used by one thread. Failures are KafkaErrors. Records must be gone
// before the sampler that read them.

#include <chrono>
#include <memory>
#include <vector>

#include "consumer/kafka_error.h"
#include "consumer/kafka_options.h"
#include "consumer/readable_search.h"
#include "dedup/message.h"

namespace onceward {

struct Stretch {
    TopicPartition partition;
    Offset begin;
    Offset end;  // exclusive
};

class Sampler {
  public:
    explicit Sampler(const KafkaOptions& options);
    ~Sampler();
    // What the stretches hold, each in offset order; throws if that takes longer than `limit`.
    std::vector<Record> read(const std::vector<Stretch>& stretches, std::chrono::seconds limit);

    // What a reading from `offset` on meets first; throws if nothing comes within `limit`.
    LogSight look(const TopicPartition& partition, Offset offset, std::chrono::seconds limit);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
