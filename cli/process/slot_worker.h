#pragma once
// A worker as the slots of a process see it. start() and stop() are for one thread at a time, the
// rest is thread-safe. An interface, so that what the slots decide is tested without Kafka.

#include <memory>
#include <optional>
#include <string>

#include "consumer/worker.h"

namespace onceward {

class SlotWorker {
  public:
    virtual ~SlotWorker() = default;
    // Throws if it cannot; then it has to be replaced.
    virtual void start() = 0;
    // Returns when its batch in flight has ended. It may never have started.
    virtual void stop() = 0;
    // Why it ended by itself; nullopt while it works.
    virtual std::optional<std::string> finished() const = 0;
    virtual Worker::Status status() const = 0;
    virtual std::optional<FetchSuspect> suspect() const = 0;
};

// A Worker. Throws if it cannot be made.
std::unique_ptr<SlotWorker> make_slot_worker(WorkerOptions options);

}  // namespace onceward
