#include "consumer/writer.h"

#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Clock = FailureResponse::Clock;

constexpr auto idle = 200ms;  // how long the writer waits for work at most
// Offset commits are advisory; one for each batch would only load the broker.
constexpr auto offsets_every = 250ms;
// How long an idle writer takes one watermark after the other. With one for each wait, more than 50
// partitions would be late.
constexpr auto watermarks_for = 100ms;

// If nearly all messages are duplicates, it pays to compute the keys first, although fresh messages
// are then decoded in the writer's thread.
bool nearly_all_duplicates(std::span<const FenceMove> moves) {
    Totals totals;
    for (const FenceMove& move : moves) totals += move.totals;
    return totals.duplicates > 0 && totals.duplicates * 10 >= totals.passed() * 9;
}

}  // namespace

Writer::Writer(const WorkerOptions& options, Handoff& handoff, KafkaSource& source,
               const std::vector<TopicParts>& parts, WorkerActivity& activity)
    : options_(options),
      handoff_(handoff),
      source_(source),
      activity_(activity),
      session_(options, handoff, activity, parts),
      steps_{options, handoff, source, activity, session_},
      failures_(steps_),
      setup_(steps_, [this](WriterTopic& topic,
                            std::span<const FenceMove> moves) { landed(topic, moves); }),
      take_over_(steps_, setup_, failures_),
      standing_(steps_, failures_) {}

void Writer::run() {
    while (true) {
        if (!session_.connected() && !handoff_.stopping()) session_.connect();
        const bool pauses_known = standing_.check_pauses();
        forget_left();
        release_memory();
        const bool may_work = pauses_known && session_.connected();
        Handoff::Work work = handoff_.next_work(may_work, Clock::now() + idle);
        switch (work.kind) {
            case Handoff::Work::Kind::stop: return;
            case Handoff::Work::Kind::none: follow_ledgers(); break;
            case Handoff::Work::Kind::take_over: take_over_.run(work.partition); break;
            case Handoff::Work::Kind::batch: process(work.topic, std::move(work.batch)); break;
        }
        if (handoff_.stopping()) continue;
        commit_offsets();
        tick_watermarks();
        standing_.check_halted();
        standing_.check_unreadable();
    }
}

void Writer::process(std::size_t number, Batch batch) {
    source_.wake();  // There is room again; a reader that found none sleeps.
    forget_old_statements();
    WriterTopic& topic = session_.topics()[number];
    // If that step has lost the session, all partitions are read again from their fences.
    if (session_.connected()) run_batch(topic, std::move(batch));
    topic.spans_in_work.clear();
    activity_.idle();
    handoff_.done();
}

void Writer::run_batch(WriterTopic& topic, Batch batch) {
    topic.spans_in_work = batch.spans;
    topic.processor->start(std::move(batch));
    while (!topic.processor->idle()) {
        const auto begun = Clock::now();
        try {
            for (const Partition partition : topic.processor->run(session_.connection())) {
                failures_.missed({topic.options.name, partition});
            }
        } catch (const ProcessingError& error) {
            if (!failures_.batch_failed(topic, error, begun)) return;
        } catch (const MessageWaits& waits) {
            failures_.message_waits(topic, waits);
        } catch (const TopicHalted& halted) {
            topic.processor->abandon();
            log_error("topic.halted", {{"topic", topic.options.name},
                                       {"partition", halted.partition.raw()},
                                       {"offset", halted.offset.raw()}});
            failures_.stop_topic(topic, halted.what(), options_.first_retry);
            return;
        } catch (const StoreChanged& changed) {
            failures_.store_changed(topic, changed);
            return;
        } catch (const std::exception& error) {
            // A sink that does not fit, or a user's own sink that failed, must not end the worker.
            failures_.refused(topic, error.what());
            return;
        }
    }
}

// The COMMIT was answered.
void Writer::landed(WriterTopic& topic, std::span<const FenceMove> moves) {
    const std::string& name = topic.options.name;
    handoff_.committed(name, moves);
    session_.watermarks().moved(name, moves);
    activity_.moved(name, moves);
    topic.reading_builder.expect_duplicates(nearly_all_duplicates(moves));
    failures_.landed(topic);
}

void Writer::commit_offsets() {
    const auto now = Clock::now();
    if (now < next_offsets_) return;
    next_offsets_ = now + offsets_every;
    const std::vector<CommittedOffset> offsets = handoff_.take_offsets();
    // DANGER: commit only offsets of this list, which holds what an answered COMMIT covers. Kafka
    // would otherwise skip messages after a restart that finds no fence.
    source_.commit_through(offsets, false);
    if (!offsets.empty()) reached(options_.observer, Step::after_offset);
}

void Writer::forget_old_statements() try {
    session_.connection().limit_prepared();
} catch (const PostgresError& error) {
    failures_.outside_batch(error, nullptr);
}

// Forgets what belonged to partitions that were revoked.
void Writer::forget_left() {
    for (const TopicPartition& partition : handoff_.take_left()) {
        session_.fences().drop(partition.topic, partition.partition);
        WriterTopic& topic = session_.topic(partition.topic);
        if (topic.claims) topic.claims->partitions_lost({&partition, 1});
    }
}

// The next batch of a stopped or paused topic may be hours away, and what its store holds counts
// towards the memory for claims until then.
// DANGER: release all of it only if the topic is not ready. None of its partitions is read then,
// and each is taken again before its next batch, which would otherwise find no claims.
void Writer::release_memory() {
    for (WriterTopic& topic : session_.topics()) {
        if (!topic.claims) continue;
        if (topic.ready) {
            topic.claims->release_discarded();
        } else {
            topic.claims->release_all();
        }
    }
}

// While there is nothing to do the ledgers' logs are followed, so that the next message does not
// wait for a long catch-up. Work that arrives meanwhile waits for one of them: each may read
// filters for long. The next call continues with the one after it.
void Writer::follow_ledgers() {
    do {
        follow_next_ledger();
    } while (next_followed_ != 0 && !handoff_.work_waits());
}

void Writer::follow_next_ledger() {
    WriterTopic& topic = session_.topics()[next_followed_];
    next_followed_ = (next_followed_ + 1) % session_.topics().size();
    if (!session_.connected() || !topic.ready || !topic.claims) return;
    try {
        topic.claims->follow(session_.connection());
    } catch (const PostgresError& error) {
        failures_.outside_batch(error, &topic);
    } catch (const std::exception& error) {
        // A segment that cannot be read, for example, must not end the worker.
        failures_.stop_topic(topic, error.what(), options_.first_retry);
    }
}

void Writer::tick_watermarks() {
    const auto until = Clock::now() + watermarks_for;
    bool is_more = true;
    try {
        while (is_more && session_.connected()) {
            const RetentionWatermarks::Found found = session_.watermarks().tick(
                session_.connection(), handoff_, source_, session_.fences());
            if (found.missed) failures_.missed(*found.missed);
            if (const auto& listed = found.listed) {
                take_over_.check_partitions(session_.topic(listed->topic), listed->partitions);
            }
            if (const auto& changed = found.other_log) {
                take_over_.other_log(session_.topic(changed->topic), changed->identity);
            }
            is_more = found.answered && !handoff_.work_waits() && Clock::now() < until;
        }
    } catch (const PostgresError& error) {
        failures_.outside_batch(error, nullptr);
    }
}

}  // namespace onceward
