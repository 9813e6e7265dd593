#include "consumer/worker.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "consumer/reader.h"
#include "consumer/writer.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutex.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

Backoff pauses(const KafkaOptions& kafka) {
    const auto heartbeat = time_property(kafka, "heartbeat.interval.ms", 3000ms);
    return {heartbeat + heartbeat / 5, time_property(kafka, "session.timeout.ms", 45'000ms)};
}

// In the order of the options.
std::vector<TopicParts> make_parts(const WorkerOptions& options) {
    std::vector<TopicParts> parts;
    for (const WorkerTopic& topic : options.topics) {
        TopicParts& made = parts.emplace_back();
        made.sink = topic.sink();
        const MessageBuilderOptions from{options.kafka.group, topic.name, topic.format, topic.key,
                                         topic.schemas};
        made.reading_builder = std::make_unique<MessageBuilder>(from, *made.sink);
        made.finishing_builder = std::make_unique<MessageBuilder>(from, *made.sink);
        if (!topic.dedup) made.reading_builder->disable_keys();
    }
    return parts;
}

}  // namespace

struct Worker::State {
    explicit State(WorkerOptions from)
        : options(std::move(from)),
          activity(topic_names(options), options.observer),
          handoff(topic_names(options), options.batch, pauses(options.kafka)),
          topics(make_parts(options)),
          reader(options, handoff, activity, topics),
          writer(options, handoff, reader.source(), topics, activity) {
        for (std::size_t i = 0; i < options.topics.size(); ++i) {
            handoff.limit(i, batch_limits(options, options.topics[i]));
        }
    }

    void run_reader() {
        try {
            reader.run(stop);
        } catch (const std::exception& error) {
            failed(error);
        }
        handoff.stop();
        reader.close();
    }

    void run_writer() {
        try {
            writer.run();
        } catch (const std::exception& error) {
            failed(error);
            stop = true;
            handoff.done();
        }
        reader.source().wake();
    }

    void failed(const std::exception& error) {
        log_error("worker.failed", {{"worker", options.number}, {"error", error.what()}});
        const MutexLock lock(mutex);
        finished = error.what();
    }

    WorkerOptions options;
    WorkerActivity activity;
    Handoff handoff;
    std::vector<TopicParts> topics;
    Reader reader;
    Writer writer;
    std::thread reader_thread;
    std::thread writer_thread;
    std::atomic<bool> stop{false};
    mutable Mutex mutex;
    std::optional<std::string> finished ONCEWARD_GUARDED_BY(mutex);
};

Worker::Worker(WorkerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Worker::~Worker() { stop(); }

void Worker::start() {
    state_->reader.join();
    state_->writer_thread = std::thread([this] { state_->run_writer(); });
    state_->reader_thread = std::thread([this] { state_->run_reader(); });
}

void Worker::stop() {
    state_->stop = true;
    state_->handoff.stop();
    state_->reader.source().wake();
    if (state_->reader_thread.joinable()) state_->reader_thread.join();
    if (state_->writer_thread.joinable()) state_->writer_thread.join();
    state_->handoff.clear();
}

std::optional<std::string> Worker::finished() const {
    const MutexLock lock(state_->mutex);
    return state_->finished;
}

std::optional<FetchSuspect> Worker::suspect() const { return state_->reader.suspect(); }

Worker::Status Worker::status() const {
    Status status;
    const auto now = Reader::Clock::now();
    const Reader& reader = state_->reader;
    status.counts = state_->activity.counts();
    status.counts.below_fence = reader.below_fence();
    status.counts.rejoins = reader.rejoins();
    status.totals = status.counts.totals();
    const SessionView session = state_->activity.session(now);
    status.connected = session.connected;
    status.postgres_failure = session.failure;
    status.joined = reader.joined();
    status.lag = reader.lag();
    status.since_poll = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(now - reader.last_poll(), Reader::Clock::duration(0)));
    status.poll_limit = time_property(state_->options.kafka, "max.poll.interval.ms", 300'000ms);
    const auto entries = state_->handoff.look(&Assignment::entries);
    status.partitions = entries.size();
    for (const auto& [partition, entry] : entries) {
        if (entry.phase == PartitionPhase::reading) {
            ++status.reading;
            if (!entry.awaits_schema.empty()) {
                status.awaiting_schema.emplace_back(partition, entry.awaits_schema);
            }
        }
        if (entry.phase == PartitionPhase::halted) {
            status.halted.push_back({partition, entry.trouble});
        }
        if (entry.phase == PartitionPhase::paused) {
            status.paused.emplace_back(partition, entry.pause);
        }
    }
    return status;
}

}  // namespace onceward
