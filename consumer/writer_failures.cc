// What the writer does about a failure: it tries again, lets the topic or a partition wait, or
// stops the topic.

#include <algorithm>
#include <thread>

#include "consumer/writer.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view statement_timed_out = "57014";
constexpr std::chrono::milliseconds pause_while_leaving{50};
constexpr std::chrono::milliseconds longest_retry{2000};
// A failure that may pass is tried again at once so often; after that, or after one try that took
// was long, the topic waits and the worker's other topics have their turn.
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

std::chrono::milliseconds Writer::backoff(int tries, std::chrono::milliseconds longest) {
    const auto whole = std::min(longest.count(), 50L << std::min(tries, 10));
    return std::chrono::milliseconds(
        static_cast<long>(static_cast<double>(whole) * (0.5 + jitter() / 2)));
}

bool Writer::recover(Topic& topic, const ProcessingError& error, Clock::time_point begun) {
    switch (error.action) {
        case FailureAction::retry: return retry(topic, error, begun);
        case FailureAction::reconnect: lose_connection(error); return false;
        case FailureAction::reject:
        case FailureAction::stop:
            refused(topic, error.summary());
            return false;
    }
    return false;
}

// What no retry can fix as things are. If the sink's target has changed since the last check, the
// topic checks it again and continues: a column that somebody adds is no reason to stop.
void Writer::refused(Topic& topic, const std::string& why) {
    topic.processor->abandon();
    if (!target_changed(topic)) return stop_topic(topic, why, options_.first_retry);
    topic.ready = false;
    let_wait(topic, Clock::now());
    log_info("topic.target_changed", {{"topic", topic.options->name}, {"error", why}});
}

bool Writer::target_changed(Topic& topic) {
    try {
        return topic.sink->target_state(*connection_) != topic.target;
    } catch (const PostgresError&) {
        return false;  // The next statement will meet it as well.
    }
}

bool Writer::retry(Topic& topic, const ProcessingError& error, Clock::time_point begun) {
    log_warning("batch.retried", {{"topic", topic.options->name}, {"sqlstate", error.sqlstate()}});
    activity_.retried(topic.options->name, error);
    ++topic.retries;
    const auto tried = Clock::now() - begun;
    const bool alone = topics_.size() == 1 || mutant(Mutant::a_topic_holds_up_the_others);
    if (!topic.processor->ends_while_leaving()) abandon_leaving(topic);
    // A call that has begun cannot be rolled back: what it answered would be lost with the batch.
    // A statement that timed out is tried in smaller parts, which would be lost as well.
    const bool bound = exchange_.stopping() || topic.processor->ends_while_leaving() ||
                       error.sqlstate() == statement_timed_out;
    if (!alone && !bound && (tried > long_try || topic.retries > short_tries)) {
        set_aside(topic, error, tried);
        return false;
    }
    exchange_.pause(backoff(topic.retries, longest_retry));
    if (topic.processor->ends_while_leaving()) {
        topic.processor->abandon(exchange_.overdue());
        // That pause ends at once if the worker stops or a partition leaves.
        if (exchange_.stopping() || !exchange_.leaving().empty()) {
            std::this_thread::sleep_for(pause_while_leaving);
        }
        return true;
    }
    abandon_leaving(topic);
    if (!exchange_.stopping()) return true;
    topic.processor->abandon();
    return false;
}

// The transaction was rolled back, so that the next owner need not wait for the rest of the batch.
void Writer::abandon_leaving(Topic& topic) {
    const std::set<Partition> leaving = exchange_.leaving();
    topic.processor->abandon(leaving);
    exchange_.abandoned(leaving);
}

// The topic's partitions wait, and the worker's other topics go on. The batch is read again from
// the fence.
void Writer::set_aside(Topic& topic, const PostgresError& error, Clock::duration tried) {
    if (topic.processor) topic.processor->abandon();
    const auto now = Clock::now();
    const auto until = aside_.next_try(now, tried, backoff(topic.retries, longest_retry));
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(until - now);
    const std::size_t partitions = let_wait(topic, until, error.summary());
    log_warning("topic.waits", {{"topic", topic.options->name},
                                {"partitions", partitions},
                                {"error", error.summary()},
                                {"tries", topic.retries},
                                {"retry_ms", pause.count()}});
}

// Returns how many partitions wait; they are read again from their fences.
std::size_t Writer::let_wait(const Topic& topic, Clock::time_point until, const std::string& why) {
    const std::size_t partitions = exchange_.with([&](Assignment& assignment) {
        const std::vector<TopicPartition> mine = assignment.of_topic(topic.options->name);
        for (const TopicPartition& partition : mine) assignment.wait(partition, until, why);
        return mine.size();
    });
    source_.wake();
    return partitions;
}

// Only the message's partition waits. The fence stays before the message, and reading begins there
// again after the pause. The other partitions of the batch go on, and a revoke finds nothing in
// flight.
void Writer::wait_for(Topic& topic, const MessageWaits& waits) {
    const TopicPartition partition{topic.options->name, waits.partition};
    topic.processor->abandon({waits.partition});
    const auto pause =
        std::chrono::duration_cast<std::chrono::milliseconds>(waits.pause * (0.75 + jitter() / 2));
    exchange_.with(
        [&](Assignment& assignment) { assignment.wait(partition, Clock::now() + pause); });
    log_warning("message.waits", {{"topic", partition.topic},
                                  {"partition", partition.partition.raw()},
                                  {"offset", waits.offset.raw()},
                                  {"error", waits.what()},
                                  {"tries", waits.tried},
                                  {"retry_ms", pause.count()}});
    source_.wake();
}

void Writer::stop_topic(Topic& topic, const std::string& why, std::chrono::milliseconds first_retry,
                        HaltReason reason) {
    topic.ready = false;  // The sink is prepared again before the next try.
    // Its table may have changed already since the last look.
    next_look_ = std::min(next_look_, Clock::now() + 100ms);
    const auto mine =
        exchange_.look([&](const Assignment& a) { return a.of_topic(topic.options->name); });
    log_error("topic.stopped",
              {{"topic", topic.options->name},
               {"partitions", mine.size()},
               {"batch", to_text(topic.batch)},
               {"error", why},
               {"retry_s", std::chrono::duration_cast<std::chrono::seconds>(first_retry).count()}});
    for (const TopicPartition& partition : mine) halt(partition, {reason, why}, first_retry);
}

// What failed outside a batch: a take-over, a look at the ledger, a sink's preparation.
void Writer::handle(const PostgresError& error, Topic* topic, Clock::duration tried) {
    switch (classify(error.diagnosis(), Origin::ours, 0)) {
        case FailureAction::retry:
            activity_.retried(topic == nullptr ? "" : topic->options->name, error);
            if (topic != nullptr && topics_.size() > 1 && tried > Clock::duration::zero()) {
                ++topic->retries;
                set_aside(*topic, error, tried);
                return;
            }
            exchange_.pause(backoff(++retries_, longest_retry));
            return;
        case FailureAction::reconnect: lose_connection(error); return;
        case FailureAction::reject:
        case FailureAction::stop:
            if (topic != nullptr) {
                stop_topic(*topic, error.summary(), options_.first_retry);
            } else {
                lose_connection(error);
            }
            return;
    }
}

}  // namespace onceward
