#pragma once
// A topic for the bench's time: made, filled, and removed with the object. Used by one thread;
// failures are KafkaErrors, ProducerErrors and std::runtime_errors.

#include <cstdint>
#include <string>

#include "consumer/produce/producer.h"
#include "lab/bench/workload.h"

namespace onceward::bench {

// Hands message `number` to the producer, its key where the workload's form has it.
void send(Producer& producer, const Workload& workload, std::int64_t number, const std::string& key,
          const std::string& payload);
// Returns when the broker has acknowledged all that was sent.
void finish(Producer& producer);

class Topic {
  public:
    Topic(std::string bootstrap_servers, Workload workload);
    ~Topic();
    Topic(const Topic&) = delete;
    Topic& operator=(const Topic&) = delete;

    const Workload& workload() const { return workload_; }
    // Appends all of the workload's messages. A second time: the same keys at new offsets.
    void fill() const;

  private:
    std::string bootstrap_servers_;
    Workload workload_;
};

}  // namespace onceward::bench
