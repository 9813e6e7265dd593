#include "consumer/worker.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "consumer/kafka/group_observer.h"
#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/handoff.h"
#include "consumer/watch/lag_observer.h"
#include "consumer/writer.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

// how long the reader sleeps when nothing wakes it; it must keep polling
constexpr auto reader_idle = 100ms;
constexpr std::size_t read_at_once = 1000;
constexpr std::size_t first_at_once = 16;  // while the size of the records is unknown
// A member that lost its group is back within a second or two where brokers are there.
constexpr auto bootstrap_every = 5s;

std::vector<std::string> names(const std::vector<WorkerTopic>& topics) {
    std::vector<std::string> names;
    for (const WorkerTopic& topic : topics) names.push_back(topic.name);
    return names;
}

std::chrono::milliseconds property(const KafkaOptions& kafka, const char* name,
                                   std::chrono::milliseconds otherwise) {
    const auto found = kafka.properties.find(name);
    if (found == kafka.properties.end()) return otherwise;
    return std::chrono::milliseconds(std::stol(found->second.reveal()));
}

Assignment::Pauses pauses(const KafkaOptions& kafka) {
    const auto heartbeat = property(kafka, "heartbeat.interval.ms", 3000ms);
    return {heartbeat + heartbeat / 5, property(kafka, "session.timeout.ms", 45000ms)};
}

// A dynamic member's end is a rebalance, after which all is owned; in the consumer protocol
// (KIP-848) the brokers follow up each hand-over themselves.
bool wants_group_observer(const KafkaOptions& kafka) {
    const auto protocol = kafka.properties.find("group.protocol");
    return !kafka.instance_id.empty() &&
           (protocol == kafka.properties.end() || protocol->second.reveal() != "consumer");
}

// A member of an eager group gives all back before it joins the next generation: one at rest where
// a partition has no owner stays so.
std::chrono::milliseconds group_look_every(const KafkaOptions& kafka) {
    return property(kafka, "session.timeout.ms", 45000ms);
}

}  // namespace

struct Worker::State final : SourceListener {
    WorkerOptions options;
    WorkerActivity activity;
    Handoff exchange;
    std::vector<std::unique_ptr<Sink>> sinks;
    std::vector<std::unique_ptr<MessageBuilder>> intakes;
    std::vector<std::unique_ptr<MessageBuilder>> finishers;  // the writer's
    std::vector<std::size_t> record_bytes;           // of each topic, as its last ones had
    std::unique_ptr<KafkaSource> source;
    std::unique_ptr<Writer> writer;
    std::unique_ptr<LagObserver> lag;
    std::unique_ptr<GroupObserver> group;  // of static members
    std::thread reader_thread;
    std::thread writer_thread;
    mutable std::mutex mutex;
    std::optional<std::string> finished;
    MemorySuspect trail{Clock::now()};
    std::vector<UnreadableRecords> unreadable_records;  // reported by the read() under way
    std::atomic<bool> stop{false};
    std::atomic<bool> joined{false};
    std::atomic<Clock::time_point> last_poll{Clock::now()};
    Clock::time_point next_bootstrap = Clock::now() + bootstrap_every;  // the reader's

    explicit State(WorkerOptions from)
        : options(std::move(from)),
          activity(names(options.topics), options.observer),
          exchange(names(options.topics), options.batch, pauses(options.kafka)) {
        std::vector<Writer::TopicParts> parts;
        for (const WorkerTopic& topic : options.topics) {
            sinks.push_back(topic.sink());
            const MessageBuilderOptions intake{options.kafka.group, topic.name, topic.format,
                                               topic.key};
            intakes.push_back(std::make_unique<MessageBuilder>(intake, *sinks.back()));
            finishers.push_back(std::make_unique<MessageBuilder>(intake, *sinks.back()));
            record_bytes.push_back(std::max<std::size_t>(options.batch.bytes / first_at_once, 1));
            parts.push_back({*sinks.back(), *intakes.back(), *finishers.back()});
            if (!topic.dedup) intakes.back()->disable_keys();
            if (topic.batch_messages > 0) exchange.limit(sinks.size() - 1, topic.batch_messages);
        }
        source = std::make_unique<KafkaSource>(options.kafka, options.number, names(options.topics),
                                               *this);
        writer = std::make_unique<Writer>(options, exchange, *source, parts, activity);
        lag = std::make_unique<LagObserver>(options.stalled_after, exchange, *source, activity);
        if (wants_group_observer(options.kafka)) {
            group = std::make_unique<GroupObserver>(group_look_every(options.kafka), *source);
        }
    }

    void read() {
        while (!stop) {
            last_poll = Clock::now();
            source->serve();
            look_for_brokers();
            for (const Assignment::Seek& seek : exchange.begin_seeks()) {
                intake_of(seek.partition.topic).set_topic_id(seek.topic_id);
                if (!source->begin(seek.partition, seek.offset, seek.leader_epoch)) continue;
                exchange.sought(seek.partition, seek.offset);
            }
            const auto standing =
                exchange.look([](const Assignment& assignment) { return assignment.standing(); });
            for (const TopicPartition& partition : standing) source->end(partition);
            bool any = false;
            for (std::size_t topic = 0; topic < options.topics.size(); ++topic) {
                if (!exchange.has_room(topic)) continue;
                Chunk chunk = source->read(topic, at_once(topic), *intakes[topic]);
                weigh(topic, chunk);
                any = any || !chunk.spans.empty();
                note(options.topics[topic].name, chunk);
                exchange.push(topic, std::move(chunk));
            }
            tell_unreadable();
            lag->tick();
            if (group && group->tick()) joined = false;
            if (!any) source->wait(reader_idle);
        }
    }

    // A chunk is never larger than a batch, so that the batch's limits hold. Its size in bytes is
    // estimated from the records before it.
    std::size_t at_once(std::size_t topic) const {
        const std::size_t most = options.topics[topic].batch_messages;
        const std::size_t batch = std::min(read_at_once, options.batch.messages);
        const std::size_t by_bytes =
            std::max<std::size_t>(options.batch.bytes / record_bytes[topic], 1);
        return std::min({batch, by_bytes, most > 0 ? most : batch});
    }

    void weigh(std::size_t topic, const Chunk& chunk) {
        if (chunk.messages.empty()) return;
        // Large ones are remembered for a while.
        record_bytes[topic] = std::max(
            {chunk.bytes / chunk.messages.size(), record_bytes[topic] / 2, std::size_t{1}});
    }

    void look_for_brokers() {
        const auto now = Clock::now();
        if (joined) {
            next_bootstrap = now + bootstrap_every;
        } else if (now >= next_bootstrap) {
            source->bootstrap_again();
            next_bootstrap = now + bootstrap_every;
        }
    }

    void note(const std::string& topic, const Chunk& chunk) {
        if (chunk.spans.empty()) return;
        const auto now = Clock::now();
        const std::lock_guard lock(mutex);
        for (const Span& span : chunk.spans) {
            trail.came({topic, span.partition}, 0, span.begin, now);
        }
        if (chunk.bytes < MemorySuspect::large) return;
        for (const Message& message : chunk.messages) {
            const std::size_t bytes = message.record.payload.value_or("").size();
            if (bytes < MemorySuspect::large) continue;
            trail.came({topic, message.record.partition}, bytes, message.record.offset, now);
        }
    }

    // DANGER: after the chunks were handed over, or the writer would find nothing on its way and
    // read the messages before these records again, for ever.
    void tell_unreadable() {
        for (const UnreadableRecords& records : std::exchange(unreadable_records, {})) {
            exchange.with([&](Assignment& assignment) {
                assignment.unreadable(records.partition, records.position, records.reason);
            });
        }
    }

    MessageBuilder& intake_of(const std::string& topic) {
        const auto found = std::ranges::find(options.topics, topic, &WorkerTopic::name);
        return *intakes[static_cast<std::size_t>(found - options.topics.begin())];
    }

    void run_reader() {
        try {
            read();
        } catch (const std::exception& error) {
            log_error("worker.failed", {{"worker", options.number}, {"error", error.what()}});
            const std::lock_guard lock(mutex);
            finished = error.what();
        }
        exchange.stop();
        source->close();
        // What a consumer beyond use did not give back: the writer ends when nothing is held any
        // more.
        std::vector<TopicPartition> rest;
        exchange.look([&](const Assignment& assignment) {
            for (const auto& [partition, entry] : assignment.entries()) rest.push_back(partition);
        });
        if (!rest.empty()) exchange.revoked(rest, options.drain_timeout);
    }

    void run_writer() {
        try {
            writer->run();
        } catch (const std::exception& error) {
            log_error("worker.failed", {{"worker", options.number}, {"error", error.what()}});
            const std::lock_guard lock(mutex);
            finished = error.what();
            stop = true;
            exchange.done();
        }
        source->wake();
    }

    void assigned(const std::vector<TopicPartition>& partitions) override {
        for (const TopicPartition& partition : partitions) {
            log_info("partition.assigned",
                     {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
        }
        reached(options.observer, Step::in_rebalance);
        activity.forget(partitions);
        exchange.assigned(partitions);
        joined = true;
    }

    void revoked(const std::vector<TopicPartition>& partitions, bool lost) override {
        const auto offsets = exchange.revoked(partitions, options.drain_timeout);
        reached(options.observer, Step::in_rebalance);
        for (const TopicPartition& partition : partitions) {
            log_info("partition.revoked", {{"topic", partition.topic},
                                           {"partition", partition.partition.raw()},
                                           {"lost", lost}});
        }
        // In the callback, before unassign: without auto-commit nothing else commits them.
        if (!lost) source->commit_through(offsets, true);
        if (lost) joined = false;
    }

    void out_of_range(const TopicPartition& partition) override {
        exchange.with([&](Assignment& assignment) { assignment.out_of_range(partition); });
    }

    void unreadable(const UnreadableRecords& records) override {
        unreadable_records.push_back(records);
    }

    void partition_failed(const TopicPartition& partition, int code,
                          const std::string& reason) override {
        log_error("partition.failed", {{"topic", partition.topic},
                                       {"partition", partition.partition.raw()},
                                       {"code", code},
                                       {"error", reason}});
    }
};

Worker::Worker(WorkerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Worker::~Worker() { stop(); }

void Worker::start() {
    state_->writer_thread = std::thread([this] { state_->run_writer(); });
    state_->reader_thread = std::thread([this] { state_->run_reader(); });
}

void Worker::stop() {
    state_->stop = true;
    state_->exchange.stop();
    state_->source->wake();
    if (state_->reader_thread.joinable()) state_->reader_thread.join();
    if (state_->writer_thread.joinable()) state_->writer_thread.join();
    state_->exchange.clear();
}

std::optional<std::string> Worker::finished() const {
    const std::lock_guard lock(state_->mutex);
    return state_->finished;
}

std::optional<FetchSuspect> Worker::suspect() const {
    std::vector<MemorySuspect::Open> open;
    state_->exchange.look([&](const Assignment& assignment) {
        for (const TopicPartition& partition : assignment.with_phase(PartitionPhase::reading)) {
            open.push_back({partition, std::nullopt, false});
        }
    });
    for (MemorySuspect::Open& one : open) {
        one.fence = state_->activity.fence(one.partition);
        const std::optional<Offset> end = state_->source->fetched_end(one.partition);
        one.waits = !end || !one.fence || *end > *one.fence;
    }
    const std::lock_guard lock(state_->mutex);
    return state_->trail.suspect(open, Clock::now());
}

Worker::Status Worker::status() const {
    Status status;
    const auto now = Clock::now();
    status.counts = state_->activity.counts();
    status.counts.below_fence = state_->source->below_fence();
    status.counts.rejoins = state_->group ? state_->group->rejoins() : 0;
    status.totals = status.counts.totals();
    status.batches = status.counts.batches;
    status.below_fence = status.counts.below_fence;
    status.offsets_skipped = status.counts.offsets_skipped;
    const SessionView session = state_->activity.session(now);
    status.connected = session.connected;
    status.postgres_failure = session.failure;
    status.joined = state_->joined;
    status.lag = state_->lag->statuses();
    status.since_poll = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(now - state_->last_poll.load(), Clock::duration(0)));
    status.poll_limit = property(state_->options.kafka, "max.poll.interval.ms", 300'000ms);
    state_->exchange.look([&](const Assignment& assignment) {
        status.partitions = assignment.entries().size();
        for (const auto& [partition, entry] : assignment.entries()) {
            if (entry.phase == PartitionPhase::reading) ++status.reading;
            if (entry.phase == PartitionPhase::halted) {
                status.halted.push_back({partition, entry.halt});
            }
            if (entry.phase == PartitionPhase::paused) {
                status.paused.emplace_back(partition, entry.pause);
            }
        }
    });
    return status;
}

}  // namespace onceward
