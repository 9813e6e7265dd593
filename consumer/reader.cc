#include "consumer/reader.h"

#include <algorithm>
#include <utility>

#include "dedup/base/logging.h"

namespace onceward {
namespace {

constexpr std::size_t read_at_once = 1000;
constexpr std::size_t first_at_once = 16;  // while the size of the records is unknown

using namespace std::chrono_literals;

// How long the reader sleeps if nothing wakes it; it must keep polling.
constexpr auto reader_idle = 100ms;
// A member that lost its group is back within a second or two if brokers answer.
constexpr auto bootstrap_every = 5s;

// Only static members need one. After a dynamic member's end, a rebalance gives every partition an
// owner; in the consumer protocol (KIP-848) the brokers supervise each hand-over themselves.
bool wants_group_observer(const KafkaOptions& kafka) {
    return !kafka.instance_id.empty() && classic_protocol(kafka);
}

}  // namespace

ReadSize::ReadSize(const BatchLimits& batch)
    : messages_(std::min(read_at_once, batch.messages)),
      bytes_(batch.bytes),
      record_bytes_(std::max<std::size_t>(batch.bytes / first_at_once, 1)) {}

std::size_t ReadSize::next() const {
    return std::min(messages_, std::max<std::size_t>(bytes_ / record_bytes_, 1));
}

void ReadSize::took(const Chunk& chunk) {
    if (chunk.messages.empty()) return;
    // Large records are remembered for a while.
    record_bytes_ =
        std::max({chunk.bytes / chunk.messages.size(), record_bytes_ / 2, std::size_t{1}});
}

Reader::Reader(const WorkerOptions& options, Handoff& handoff, WorkerActivity& activity,
               const std::vector<TopicParts>& parts)
    : options_(options),
      handoff_(handoff),
      activity_(activity),
      source_(options.kafka, options.number, topic_names(options), *this),
      lag_(options.stalled_after, handoff, source_, activity),
      next_bootstrap_(Clock::now() + bootstrap_every) {
    topics_.reserve(options.topics.size());
    for (std::size_t i = 0; i < options.topics.size(); ++i) {
        const WorkerTopic& topic = options.topics[i];
        topics_.push_back({topic.name, *parts[i].reading_builder,
                           ReadSize(batch_limits(options, topic)), topic.schemas.get()});
        if (!topic.schemas) continue;
        schema_news_.push_back(std::make_unique<SchemaCache::Listener>(
            *topic.schemas, [this] { source_.wake(); }));
    }
    // A member of an eager group gives everything back before it joins the next generation, so one
    // session time-out between two checks is enough.
    if (wants_group_observer(options.kafka)) {
        group_.emplace(time_property(options.kafka, "session.timeout.ms", 45'000ms), source_);
    }
}

void Reader::join() {
    last_poll_ = Clock::now();  // it may have been made long ago
    source_.join();
}

void Reader::run(const std::atomic<bool>& stop) {
    while (!stop) {
        last_poll_ = Clock::now();
        source_.serve();
        find_brokers();
        seek_to_fences();
        stop_fetching();
        resume_awaited();
        const bool any = read_topics();
        report_unreadable();
        lag_.tick();
        if (group_ && group_->tick()) joined_ = false;
        if (!any) source_.wait(reader_idle);
    }
}

void Reader::close() {
    source_.close();
    // A consumer that failed did not give these back. The writer ends when none is held any more.
    std::vector<TopicPartition> rest;
    for (const auto& [partition, entry] : handoff_.look(&Assignment::entries)) {
        rest.push_back(partition);
    }
    if (!rest.empty()) handoff_.revoked(rest, options_.drain_timeout);
}

void Reader::find_brokers() {
    const auto now = Clock::now();
    if (!joined_ && now < next_bootstrap_) return;
    if (!joined_) source_.bootstrap_again();
    next_bootstrap_ = now + bootstrap_every;
}

Reader::Topic& Reader::topic(const std::string& name) {
    return *std::ranges::find_if(topics_, [&](const Topic& one) { return one.name == name; });
}

void Reader::seek_to_fences() {
    for (const Assignment::Seek& seek : handoff_.begin_seeks()) {
        // The fence may be before the awaited message. If the wait were kept, reading could jump to
        // that message; the fence would refuse the batch, and would have to be taken once more.
        schema_waits_.forget(seek.partition);
        topic(seek.partition.topic).builder.set_topic_id(seek.topic_id);
        if (!source_.begin(seek.partition, seek.offset, seek.leader_epoch)) continue;
        handoff_.sought(seek.partition, seek.offset);
    }
}

void Reader::stop_fetching() {
    for (const TopicPartition& partition : handoff_.look(&Assignment::not_fetched)) {
        source_.end(partition);
        schema_waits_.forget(partition);
    }
}

void Reader::resume_awaited() {
    if (schema_waits_.empty()) return;
    const auto find = [this](const AwaitedRecord& record) {
        return topic(record.partition.topic).schemas->find(record.schema.id);
    };
    const SchemaWaits::News news = schema_waits_.look(find, Clock::now());
    for (const AwaitedRecord& record : news.waiting) {
        handoff_.with(&Assignment::awaits_schema, record.partition, describe(record));
        log_warning("partition.awaits_schema", {{"topic", record.partition.topic},
                                                {"partition", record.partition.partition.raw()},
                                                {"offset", record.position.raw()},
                                                {"schema", id_text(record.schema.id)},
                                                {"reason", record.schema.reason}});
    }
    for (const AwaitedRecord& record : news.ready) {
        if (!resume(record)) continue;
        if (schema_waits_.told(record.partition)) {
            log_info("partition.schema_known",
                     {{"topic", record.partition.topic},
                      {"partition", record.partition.partition.raw()},
                      {"offset", record.position.raw()},
                      {"schema", id_text(record.schema.id)}});
        }
        schema_waits_.forget(record.partition);
        handoff_.with(&Assignment::awaits_schema, record.partition, "");
    }
}

// Returns whether the wait is over because the partition is read again from that message. If its
// fence is being taken again, reading begins at the fence instead.
bool Reader::resume(const AwaitedRecord& record) {
    if (!handoff_.look(&Assignment::reading, record.partition)) return false;
    return source_.begin(record.partition, record.position, record.leader_epoch);
}

bool Reader::read_topics() {
    bool any = false;
    for (std::size_t number = 0; number < topics_.size(); ++number) {
        if (!handoff_.has_room(number)) continue;
        Topic& topic = topics_[number];
        Chunk chunk = source_.read(number, topic.size.next(), topic.builder);
        topic.size.took(chunk);
        any = any || !chunk.spans.empty();
        note(topic.name, chunk);
        handoff_.push(number, std::move(chunk));
    }
    return any;
}

void Reader::note(const std::string& topic, const Chunk& chunk) {
    if (chunk.spans.empty()) return;
    const auto now = Clock::now();
    const MutexLock lock(mutex_);
    for (const Span& span : chunk.spans) {
        suspect_.came({topic, span.partition}, 0, span.begin, now);
    }
    if (chunk.bytes < MemorySuspect::large) return;
    for (const Message& message : chunk.messages) {
        const std::size_t bytes = message.record.payload.value_or("").size();
        if (bytes < MemorySuspect::large) continue;
        suspect_.came({topic, message.record.partition}, bytes, message.record.offset, now);
    }
}

// DANGER: call it after the chunks were handed over. Otherwise the writer does not see the messages
// before these records, and reads them again, for ever.
void Reader::report_unreadable() {
    for (const UnreadableRecords& records : std::exchange(unreadable_records_, {})) {
        handoff_.with(&Assignment::unreadable, records.partition, records.position, records.reason);
    }
}

std::optional<FetchSuspect> Reader::suspect() const {
    std::vector<MemorySuspect::Open> open;
    for (const TopicPartition& partition :
         handoff_.look(&Assignment::with_phase, PartitionPhase::reading)) {
        const std::optional<Offset> fence = activity_.fence(partition);
        const std::optional<Offset> end = source_.fetched_end(partition);
        open.push_back({partition, fence, !end || !fence || *end > *fence});
    }
    const MutexLock lock(mutex_);
    return suspect_.suspect(open, Clock::now());
}

void Reader::assigned(const std::vector<TopicPartition>& partitions) {
    for (const TopicPartition& partition : partitions) {
        log_info("partition.assigned",
                 {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
    }
    reached(options_.observer, Step::in_rebalance);
    activity_.rebalanced(&RebalanceCounts::assigned);
    activity_.forget(partitions);
    handoff_.assigned(partitions);
    joined_ = true;
}

void Reader::revoked(const std::vector<TopicPartition>& partitions, bool lost) {
    for (const TopicPartition& partition : partitions) schema_waits_.forget(partition);
    activity_.rebalanced(lost ? &RebalanceCounts::lost : &RebalanceCounts::revoked);
    const auto offsets = handoff_.revoked(partitions, options_.drain_timeout);
    reached(options_.observer, Step::in_rebalance);
    for (const TopicPartition& partition : partitions) {
        log_info(
            "partition.revoked",
            {{"topic", partition.topic}, {"partition", partition.partition.raw()}, {"lost", lost}});
    }
    // In the callback, before unassign: without auto-commit nothing else commits them.
    if (!lost) source_.commit_through(offsets, true);
    if (lost) joined_ = false;
}

void Reader::out_of_range(const TopicPartition& partition) {
    handoff_.with(&Assignment::out_of_range, partition);
}

void Reader::unreadable(const UnreadableRecords& records) {
    unreadable_records_.push_back(records);
}

void Reader::awaits_schema(const AwaitedRecord& record) {
    AwaitedRecord awaited = record;
    awaited.schema.reason =
        topic(record.partition.topic).schemas->find(record.schema.id).reason;
    handoff_.with(&Assignment::awaits_schema, record.partition, describe(awaited));
    schema_waits_.add(std::move(awaited), Clock::now());
}

void Reader::partition_failed(const TopicPartition& partition, int code,
                              const std::string& reason) {
    log_error("partition.failed", {{"topic", partition.topic},
                                   {"partition", partition.partition.raw()},
                                   {"code", code},
                                   {"error", reason}});
}

}  // namespace onceward
