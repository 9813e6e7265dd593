#pragma once
// Sends the outbox rows of one consumer group to Kafka and deletes those that Kafka has: at least
// once, each time with the same id in the header `onceward-id`, in order for each key. One thread,
// one session and one producer for each process; one process of a group leads, by an advisory lock
// of its session. Failures inside run() are logged, and everything is started again.

#include <array>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

#include "consumer/produce/producer.h"
#include "consumer/relay/relay_book.h"
#include "dedup/base/mutex.h"
#include "dedup/base/step_observer.h"
#include "dedup/postgres/connection.h"
#include "dedup/trace/tracer.h"

namespace onceward {

struct RelayOptions {
    ConnectionOptions connection;
    std::string group;
    ProducerOptions producer;
    // The largest record that any of the outboxes makes, without its id.
    std::size_t record_max = 1'000'000;
    RelayBook::Limits limits;
    // The longest time between two polls of an outbox that sent no notification. A shorter time
    // costs more small queries; a notification takes effect at once in any case.
    std::chrono::milliseconds poll_every{5'000};
    // How often a process that does not lead asks whether it may.
    std::chrono::milliseconds take_over_every{2'000};
    // A leader that does nothing for this long is frozen, and the server ends its session. A
    // shorter time hands over sooner; it must exceed `poll_every` and the delivery time-out.
    std::chrono::milliseconds frozen_after{60'000};
    // How long Kafka may refuse the time of all records before this process gives up the lead: its
    // clock is wrong, and that of another process may be right.
    std::chrono::milliseconds clock_patience{5'000};
    // How long a stop waits for the records under way. What is not answered by then is sent again
    // by the next leader.
    std::chrono::milliseconds drain_timeout{2'000};
    StepObserver* observer = nullptr;
    // Null if traces are off. Else each sending of a record whose trace is recorded has a span,
    // which the record's consumers continue.
    Tracer* tracer = nullptr;
};

// What a process's relay has done since it began. A plain value.
struct RelayCounts {
    bool leads = false;
    std::int64_t sent = 0;  // records that Kafka has
    // Records that it does not have, by the SendFailure; each is tried again.
    std::array<std::int64_t, 3> failed{};
    std::int64_t restarts = 0;  // times that everything was started again after a failure
    std::int64_t held_topics = 0;
    std::int64_t held_keys = 0;
};

class Relay {
  public:
    explicit Relay(RelayOptions options);
    // Runs until `stop` is requested; ends within the drain time plus that of one statement.
    void run(std::stop_token stop);
    // Thread-safe.
    RelayCounts counts() const;

  private:
    class Leader;
    void serve(Connection& connection, const std::stop_token& stop);
    RelayOptions options_;
    mutable Mutex mutex_;
    RelayCounts counts_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
