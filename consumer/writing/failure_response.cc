#include "consumer/writing/failure_response.h"

#include <algorithm>
#include <thread>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "dedup/policy/failure.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

constexpr int others_share = 3;
constexpr milliseconds longest_wait{30'000};

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds pause_while_leaving{50};
constexpr Backoff retries{.first = 100ms, .longest = 2000ms, .least = 0.5};
// After a failure that may pass, a batch is tried again at once this many times; after that, or
// after one long try, the topic waits and the worker's other topics have their turn.
constexpr int short_tries = 4;

// PARTITION:BEGIN-END, with END excluded, for each partition: the offsets to look at or to skip.
std::string to_text(std::span<const Span> spans) {
    std::string text;
    for (const Span& span : spans) {
        if (!text.empty()) text += ' ';
        text += std::to_string(span.partition.raw()) + ':' + std::to_string(span.begin.raw()) +
                '-' + std::to_string(span.end.raw());
    }
    return text;
}

}  // namespace

TopicSpacing::Clock::time_point TopicSpacing::next_try(Clock::time_point now, Clock::duration tried,
                                                       milliseconds least) {
    const auto wait = std::clamp(std::chrono::duration_cast<milliseconds>(tried * others_share),
                                 least, std::max(least, longest_wait));
    if (tried <= long_try) return now + wait;
    const auto until = std::max(now + wait, free_from_);
    free_from_ = until + tried + wait;
    return until;
}

bool FailureResponse::batch_failed(WriterTopic& topic, const ProcessingError& error,
                                   Clock::time_point begun) {
    switch (error.action) {
        case FailureAction::retry: return retry(topic, error, begun);
        case FailureAction::reconnect: session_.lost(error); return false;
        case FailureAction::reject:
        case FailureAction::stop: refused(topic, error.summary()); return false;
    }
    return false;
}

// If the sink's target has changed since the last check, the topic checks it again and continues:
// a column that somebody adds is no reason to stop.
void FailureResponse::refused(WriterTopic& topic, const std::string& why) {
    topic.processor->abandon();
    if (!target_changed(topic)) return stop_topic(topic, why, options_.first_retry);
    topic.ready = false;
    let_wait(topic, Clock::now());
    log_info("topic.target_changed", {{"topic", topic.options.name}, {"error", why}});
}

// Nothing of the batch has landed. It is read again from the fence, once the topic is set up with
// the store that the ledger has now; `store: table` is then refused, with a text that says what to
// write.
void FailureResponse::store_changed(WriterTopic& topic, const StoreChanged& changed) {
    topic.processor->abandon();
    topic.ready = false;
    let_wait(topic, Clock::now());
    log_info("topic.store_changed",
             {{"topic", topic.options.name}, {"reason", std::string(changed.what())}});
}

bool FailureResponse::target_changed(WriterTopic& topic) {
    try {
        return topic.sink.target_state(session_.connection()) != topic.target;
    } catch (const PostgresError&) {
        return false;  // The next statement will meet it as well.
    }
}

void FailureResponse::landed(WriterTopic& topic) {
    topic.retries = 0;
    retries_ = 0;
}

bool FailureResponse::retry(WriterTopic& topic, const ProcessingError& error,
                            Clock::time_point begun) {
    log_warning("batch.retried", {{"topic", topic.options.name}, {"sqlstate", error.sqlstate()}});
    activity_.retried(topic.options.name, error);
    ++topic.retries;
    const auto tried = Clock::now() - begun;
    if (topic.processor->ends_while_leaving()) return retry_calls(topic);
    abandon_leaving(topic);
    const bool alone = session_.topics().size() == 1 || mutant("a_topic_holds_up_the_others");
    // A statement that timed out is tried in smaller parts, which would be lost with the batch.
    const bool bound = handoff_.stopping() || error.sqlstate() == sqlstate::query_canceled;
    if (!alone && !bound && (tried > long_try || topic.retries > short_tries)) {
        set_aside(topic, error, tried);
        return false;
    }
    handoff_.pause(retries.after(topic.retries, roll()));
    abandon_leaving(topic);
    if (!handoff_.stopping()) return true;
    topic.processor->abandon();
    return false;
}

// A call that has begun cannot be rolled back: what it answered would be lost with the batch. So
// the batch stays in work, also while the worker stops.
bool FailureResponse::retry_calls(WriterTopic& topic) {
    handoff_.pause(retries.after(topic.retries, roll()));
    topic.processor->abandon(handoff_.overdue());
    // That pause ends at once if the worker stops or a partition leaves.
    if (handoff_.stopping() || !handoff_.leaving().empty()) {
        std::this_thread::sleep_for(pause_while_leaving);
    }
    return true;
}

// The transaction was rolled back, so that the next owner need not wait for the rest of the batch.
void FailureResponse::abandon_leaving(WriterTopic& topic) {
    const std::set<Partition> leaving = handoff_.leaving();
    topic.processor->abandon(leaving);
    handoff_.abandoned(leaving);
}

// The topic's partitions wait, and the worker's other topics continue. The batch is read again from
// the fence.
void FailureResponse::set_aside(WriterTopic& topic, const PostgresError& error,
                                Clock::duration tried) {
    if (topic.processor) topic.processor->abandon();
    const auto now = Clock::now();
    const auto until = spacing_.next_try(now, tried, retries.after(topic.retries, roll()));
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(until - now);
    const std::size_t partitions = let_wait(topic, until, error.summary());
    log_warning("topic.waits", {{"topic", topic.options.name},
                                {"partitions", partitions},
                                {"error", error.summary()},
                                {"tries", topic.retries},
                                {"retry_ms", pause.count()}});
}

std::size_t FailureResponse::let_wait(const WriterTopic& topic, Clock::time_point until,
                                      const std::string& why) {
    const std::size_t partitions = handoff_.with([&](Assignment& assignment) {
        const std::vector<TopicPartition> mine = assignment.of_topic(topic.options.name);
        for (const TopicPartition& partition : mine) assignment.wait(partition, until, why);
        return mine.size();
    });
    source_.wake();
    return partitions;
}

// Only the message's partition waits. The fence stays before the message, and reading begins there
// again after the pause. The other partitions of the batch continue, and a revoke finds nothing in
// flight.
void FailureResponse::message_waits(WriterTopic& topic, const MessageWaits& waits) {
    const TopicPartition partition{topic.options.name, waits.partition};
    topic.processor->abandon({waits.partition});
    const auto pause = spread(waits.pause, 0.75, 1.25, roll());
    handoff_.with(&Assignment::wait, partition, Clock::now() + pause, "");
    log_warning("message.waits", {{"topic", partition.topic},
                                  {"partition", partition.partition.raw()},
                                  {"offset", waits.offset.raw()},
                                  {"error", waits.what()},
                                  {"tries", waits.tried},
                                  {"retry_ms", pause.count()}});
    source_.wake();
}

// The fence's row may be locked for long. Partitions that are read have rows of their own.
bool FailureResponse::take_over_waits(const TopicPartition& partition, const PostgresError& error,
                                      Clock::duration tried) {
    if (meaning_of(error) != FailureAction::retry) return false;
    activity_.retried(partition.topic, error);
    log_warning("partition.waits", {{"topic", partition.topic},
                                    {"partition", partition.partition.raw()},
                                    {"error", error.summary()},
                                    {"retry_ms", pause_take_overs(partition, tried).count()}});
    return true;
}

void FailureResponse::brokers_failed(const TopicPartition& partition, const std::string& why,
                                     Clock::duration tried) {
    log_warning("kafka.query_failed", {{"topic", partition.topic},
                                       {"error", why},
                                       {"retry_ms", pause_take_overs(partition, tried).count()}});
}

milliseconds FailureResponse::pause_take_overs(const TopicPartition& failed,
                                               Clock::duration tried) {
    const auto now = Clock::now();
    const auto until = handoff_.with(&Assignment::take_over_failed, failed, now, tried, roll());
    return std::chrono::duration_cast<milliseconds>(until - now);
}

void FailureResponse::missed(const TopicPartition& partition) {
    session_.fences().drop(partition.topic, partition.partition);
    log_warning("fence.missed",
                {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
    handoff_.with(&Assignment::missed, partition, Clock::now(), roll());
}

void FailureResponse::halt(const TopicPartition& partition, const Halt& halt,
                           std::chrono::milliseconds first_retry) {
    log_halted({partition, halt});
    handoff_.with(&Assignment::halt, partition, halt, Clock::now(), first_retry);
    source_.wake();
}

void FailureResponse::stop_topic(WriterTopic& topic, const std::string& why,
                                 std::chrono::milliseconds first_retry, HaltReason reason) {
    topic.ready = false;  // The sink is prepared again before the next try.
    stopped_ = true;
    const auto mine = handoff_.look(&Assignment::of_topic, topic.options.name);
    log_error("topic.stopped",
              {{"topic", topic.options.name},
               {"partitions", mine.size()},
               {"batch", to_text(topic.spans_in_work)},
               {"error", why},
               {"retry_s", std::chrono::duration_cast<std::chrono::seconds>(first_retry).count()}});
    for (const TopicPartition& partition : mine) halt(partition, {reason, why}, first_retry);
}

bool FailureResponse::take_stopped() { return std::exchange(stopped_, false); }

void FailureResponse::outside_batch(const PostgresError& error, WriterTopic* topic,
                                    Clock::duration tried) {
    switch (meaning_of(error)) {
        case FailureAction::retry:
            activity_.retried(topic == nullptr ? "" : topic->options.name, error);
            if (topic != nullptr && session_.topics().size() > 1 &&
                tried > Clock::duration::zero()) {
                ++topic->retries;
                return set_aside(*topic, error, tried);
            }
            handoff_.pause(retries.after(++retries_, roll()));
            return;
        case FailureAction::reconnect: return session_.lost(error);
        case FailureAction::reject:
        case FailureAction::stop:
            if (topic == nullptr) return session_.lost(error);
            return stop_topic(*topic, error.summary(), options_.first_retry);
    }
}

}  // namespace onceward
