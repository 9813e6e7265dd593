#include "lab/demo/feeder.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "consumer/produce/producer.h"
#include "consumer/produce/record_encoder.h"
#include "lab/kafka/mock_cluster.h"

namespace onceward::demo {
namespace {

using std::chrono::milliseconds;

// The mock cluster trims what a partition holds beyond its limit, read or not: half of it stays
// free.
constexpr std::size_t backlog_bytes_max = MockCluster::partition_bytes_max / 2;
// Kafka's own bytes around a record, the key's header included; generous.
constexpr std::size_t record_overhead = 128;
constexpr milliseconds poll_interval{20};
constexpr milliseconds flush_limit{60'000};

RecordEncoder encoder_of(Topic topic, const FeederOptions& options) {
    FormatOptions format;
    switch (topic) {
        case Topic::payments:
            format.format = Format::protobuf;
            format.proto_files = {options.proto_file};
            format.message = "onceward.demo.v1.Payment";
            break;
        case Topic::orders: format.format = Format::json; break;
    }
    return RecordEncoder(format);
}

}  // namespace

Feeder::Feeder(FeederOptions options, Workload& workload)
    : options_(std::move(options)), workload_(workload), thread_([this] { run(); }) {}

Feeder::~Feeder() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Feeder::allow(std::int64_t messages) {
    {
        const std::lock_guard lock(mutex_);
        allowed_ = std::max(allowed_, messages);
    }
    changed_.notify_all();
}

void Feeder::passed(const TopicPartition& partition, Offset next) {
    {
        const std::lock_guard lock(mutex_);
        Offset& passed = partitions_[partition].passed;
        passed = std::max(passed, next);
    }
    changed_.notify_all();
}

void Feeder::check() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

std::int64_t Feeder::delivered() const {
    const std::lock_guard lock(mutex_);
    return delivered_;
}

std::int64_t Feeder::lag() const {
    const std::lock_guard lock(mutex_);
    std::int64_t lag = 0;
    for (const auto& [partition, progress] : partitions_)
        lag += std::max<std::int64_t>(progress.end.raw() - progress.passed.raw(), 0);
    return lag;
}

bool Feeder::done() const {
    const std::lock_guard lock(mutex_);
    return done_;
}

void Feeder::run() {
    try {
        feed();
    } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
    }
}

void Feeder::feed() {
    ProducerOptions producer_options;
    producer_options.bootstrap_servers = options_.bootstrap_servers;
    Producer producer(producer_options);
    std::array<RecordEncoder, topics.size()> encoders{encoder_of(Topic::payments, options_),
                                                      encoder_of(Topic::orders, options_)};
    // The tag says which topic: a delivery has only the partition.
    producer.on_delivery([this](const Delivery& delivery) {
        const std::lock_guard lock(mutex_);
        if (!delivery.error.empty()) return;
        ++delivered_;
        Offset& end = partitions_[{name_of(topics.at(delivery.tag)), delivery.partition}].end;
        end = std::max(end, next(delivery.offset));
    });

    for (std::int64_t ordinal = 0; ordinal < workload_.messages(); ++ordinal) {
        const DemoMessage message = workload_.next();
        const TopicPartition target{name_of(message.topic), message.partition};
        const auto topic = static_cast<std::size_t>(message.topic);
        const std::string payload = encoders.at(topic).encode(message.json).payload;
        const std::string key = uuid_text(message.key);
        record_bytes_max_ = std::max(record_bytes_max_, payload.size() + record_overhead);
        while (!wait_for_room(target, ordinal)) {
            producer.poll();
            const std::lock_guard lock(mutex_);
            if (stopping_) return;
        }
        const std::array<Header, 1> headers{Header{"Idempotency-Key", key}};
        OutgoingRecord record;
        record.topic = target.topic;
        record.partition = target.partition;
        record.payload = payload;
        record.headers = headers;
        record.tag = topic;
        producer.send(record);
    }
    producer.flush(flush_limit);
    if (producer.delivered() != workload_.messages())
        throw std::runtime_error("the demo's broker did not take every message: " +
                                 producer.first_failure());
    const std::lock_guard lock(mutex_);
    done_ = true;
}

// Waits a moment; true, and the message counted, where it may be sent.
bool Feeder::wait_for_room(const TopicPartition& partition, std::int64_t ordinal) {
    std::unique_lock lock(mutex_);
    Progress& progress = partitions_[partition];
    const auto room = [&] {
        const std::int64_t unsettled = progress.sent - progress.passed.raw();
        const auto most = static_cast<std::int64_t>(backlog_bytes_max / record_bytes_max_);
        return ordinal < allowed_ && unsettled < most;
    };
    changed_.wait_for(lock, poll_interval, [&] { return stopping_ || room(); });
    if (stopping_ || !room()) return false;
    ++progress.sent;
    return true;
}

}  // namespace onceward::demo
