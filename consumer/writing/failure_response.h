#pragma once
// What the writer does about a failure: it tries again, lets a topic or a partition wait, stops a
// topic, or gives up the session. One message, topic or table in trouble never stops the others.
// Used by the writer's thread only. Borrows what it is constructed with.

#include <chrono>
#include <string>

#include "consumer/writing/writer_session.h"
#include "dedup/claims/claim_store.h"

namespace onceward {

// When a topic in trouble may be tried again. A worker's topics share one writer, and a try that
// waits for a lock holds up all of them. So the topic waits three times as long as its try took,
// and two topics in trouble never take their tries one right after the other: healthy topics have
// three quarters of the time, no matter how many are in trouble. Pure; one thread.
class TopicSpacing {
  public:
    using Clock = std::chrono::steady_clock;

    // `tried`: how long the failed try took. `least`: the shortest wait. The wait itself is at most
    // thirty seconds; long tries of other topics may be put before it.
    Clock::time_point next_try(Clock::time_point now, Clock::duration tried,
                               std::chrono::milliseconds least);

  private:
    // Before that moment no other topic whose last try was long may be tried.
    Clock::time_point free_from_{};
};

// A try that took longer than this is one that holds up the other topics.
constexpr std::chrono::milliseconds long_try{1000};

class FailureResponse : private WriterStep {
  public:
    using Clock = std::chrono::steady_clock;

    explicit FailureResponse(const WriterStep& borrowed) : WriterStep(borrowed) {}

    // A batch failed. Returns whether it is to be tried again on this session. `begun`: when the
    // failed try began.
    bool batch_failed(WriterTopic& topic, const ProcessingError& error, Clock::time_point begun);
    // A message is to be tried again later: its partition waits.
    void message_waits(WriterTopic& topic, const MessageWaits& waits);
    // The topic's sink or claims cannot continue, and no retry repairs it for now.
    void refused(WriterTopic& topic, const std::string& why);
    // The topic's ledger was converted: it continues with the store that the ledger has now.
    void store_changed(WriterTopic& topic, const StoreChanged& changed);
    // The topic's batches land: failures are counted from the beginning again.
    void landed(WriterTopic& topic);
    // Something failed outside a batch: a take-over, a check of the ledger, a sink's preparation.
    // `topic`: null if it was no topic's work. `tried`: how long the try held up the other topics.
    void outside_batch(const PostgresError& error, WriterTopic* topic, Clock::duration tried = {});

    // A partition's fence could not be taken, and the error may pass: partitions that are read
    // continue. Returns false if another try does not help: see outside_batch(). `tried`: how long
    // it held up the batches.
    bool take_over_waits(const TopicPartition& partition, const PostgresError& error,
                         Clock::duration tried);
    // The brokers gave no answer that a take-over needs.
    void brokers_failed(const TopicPartition& partition, const std::string& why,
                        Clock::duration tried);

    // The fence is not this worker's, or has another offset: it must be taken again.
    void missed(const TopicPartition& partition);
    // Nothing of the partition is read until it is tried again. If `first_retry` is 0, it is never
    // tried again by itself.
    void halt(const TopicPartition& partition, const Halt& halt,
              std::chrono::milliseconds first_retry);
    // Halts all of the topic's partitions.
    void stop_topic(WriterTopic& topic, const std::string& why,
                    std::chrono::milliseconds first_retry, HaltReason reason = HaltReason::failed);
    // Whether a topic was stopped since the last call.
    bool take_stopped();

  private:
    bool retry(WriterTopic& topic, const ProcessingError& error, Clock::time_point begun);
    // For a processor that ends its calls while partitions leave. Returns true.
    bool retry_calls(WriterTopic& topic);
    bool target_changed(WriterTopic& topic);
    // Returns how long no take-over of `failed` is tried.
    std::chrono::milliseconds pause_take_overs(const TopicPartition& failed, Clock::duration tried);
    void set_aside(WriterTopic& topic, const PostgresError& error, Clock::duration tried);
    void abandon_leaving(WriterTopic& topic);
    // Returns how many partitions wait; they are read again from their fences.
    std::size_t let_wait(const WriterTopic& topic, Clock::time_point until,
                         const std::string& why = "");

    TopicSpacing spacing_;
    int retries_ = 0;  // of work that is no topic's batch
    bool stopped_ = false;
};

}  // namespace onceward
