#include "consumer/kafka/range_reader.h"

#include <algorithm>
#include <map>

#include "consumer/kafka/kafka_requests.h"

namespace onceward {

std::optional<Offset> next_readable(Offset begin, Offset end,
                                    const std::function<LogSight(Offset)>& look, int looks) {
    std::int64_t at = begin.raw();
    while (at < end.raw()) {
        if (looks-- <= 0) return std::nullopt;
        const LogSight batch = look(Offset{at});
        if (batch.kind != LogSight::Kind::unreadable) return Offset{at};
        const auto inside = [&](std::int64_t offset) {
            const LogSight sight = look(Offset{offset});
            return sight.kind == LogSight::Kind::unreadable && sight.at == batch.at;
        };
        // Searches between `at`, inside the batch, and `outside`: in doubling steps, then by
        // halving.
        std::int64_t outside = end.raw();
        for (std::int64_t step = 1; at + step < outside;) {
            if (looks-- <= 0) return std::nullopt;
            const std::int64_t probe = at + step;
            if (inside(probe)) {
                at = probe;
                step *= 2;
            } else {
                outside = probe;
            }
        }
        while (outside - at > 1) {
            if (looks-- <= 0) return std::nullopt;
            const std::int64_t middle = at + (outside - at) / 2;
            (inside(middle) ? at : outside) = middle;
        }
        at = outside;
    }
    return std::max(begin, end);
}

namespace {

[[noreturn]] void too_late(std::chrono::seconds limit) {
    throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT,
                     "the records did not come within " + std::to_string(limit.count()) + " s");
}

}  // namespace

struct RangeReader::State {
    KafkaClient client;
    Stretch left;  // of the one that is open
    void assign(const TopicPartition& partition, Offset offset) const {
        assign(list_of(partition, offset.raw()));
    }
    void assign(const KafkaTopicPartitionList& list) const {
        const rd_kafka_resp_err_t refused = rd_kafka_assign(client.get(), list.get());
        if (refused != RD_KAFKA_RESP_ERR_NO_ERROR) {
            throw KafkaError(refused, rd_kafka_err2str(refused));
        }
    }
    // A record, or a partition's end; null if nothing came.
    KafkaMessage poll() const {
        KafkaMessage message(rd_kafka_consumer_poll(client.get(), 100));
        if (message && message->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
            message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            throw KafkaError(message->err, rd_kafka_message_errstr(message.get()));
        }
        return message;
    }
};

RangeReader::RangeReader(const KafkaOptions& options) : state_(std::make_unique<State>()) {
    // It is assigned and never subscribes, so no member of the group is disturbed.
    state_->client = make_consumer(options, 0, nullptr);
}

RangeReader::~RangeReader() {
    if (state_->client) rd_kafka_consumer_close(state_->client.get());
}

std::vector<Record> RangeReader::read(const std::vector<Stretch>& stretches,
                                      std::chrono::seconds limit) {
    std::map<TopicPartition, Offset> open;  // what is still to be read, and up to where
    const KafkaTopicPartitionList list(
        rd_kafka_topic_partition_list_new(static_cast<int>(stretches.size())));
    for (const Stretch& stretch : stretches) {
        if (stretch.begin >= stretch.end) continue;
        open[stretch.partition] = stretch.end;
        add_to(list, stretch.partition, stretch.begin.raw());
    }
    std::vector<Record> records;
    if (open.empty()) return records;
    state_->assign(list);
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!open.empty()) {
        if (std::chrono::steady_clock::now() > deadline) too_late(limit);
        KafkaMessage message = state_->poll();
        if (!message) continue;
        const bool end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        const TopicPartition partition{rd_kafka_topic_name(message->rkt),
                                       Partition{message->partition}};
        const auto wanted = open.find(partition);
        if (wanted == open.end()) continue;
        const Offset offset{message->offset};
        if (!end && offset < wanted->second) records.push_back(to_record(std::move(message)));
        if (end || next(offset) >= wanted->second) open.erase(wanted);
    }
    rd_kafka_assign(state_->client.get(), nullptr);
    return records;
}

void RangeReader::open(const Stretch& stretch) {
    state_->left = stretch;
    state_->assign(stretch.partition, stretch.begin);
}

RecordPage RangeReader::page(std::size_t messages, std::size_t bytes, std::chrono::seconds limit) {
    Stretch& left = state_->left;
    RecordPage page{{}, left.begin};
    std::size_t taken = 0;
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (page.end < left.end && page.records.size() < messages && taken < bytes) {
        KafkaMessage message = state_->poll();
        if (!message && !page.records.empty()) break;
        if (!message && std::chrono::steady_clock::now() > deadline) too_late(limit);
        if (!message) continue;
        const bool end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        const Offset offset{message->offset};
        if (end || offset >= left.end) {
            page.end = left.end;
        } else if (offset >= page.end) {
            page.end = next(offset);
            taken += message->len + message->key_len;
            page.records.push_back(to_record(std::move(message)));
        }
    }
    left.begin = page.end;
    if (page.end == left.end) rd_kafka_assign(state_->client.get(), nullptr);
    return page;
}

LogSight RangeReader::look(const TopicPartition& partition, Offset offset,
                           std::chrono::seconds limit) {
    state_->assign(partition, offset);
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::string last = "nothing came";
    while (std::chrono::steady_clock::now() < deadline) {
        const KafkaMessage message(rd_kafka_consumer_poll(state_->client.get(), 100));
        if (!message) continue;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            return {LogSight::Kind::record, Offset{message->offset}};
        }
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            return {LogSight::Kind::end_of_log, Offset{message->offset}};
        }
        if (records_unreadable(message->err)) {
            return {LogSight::Kind::unreadable, Offset{message->offset}};
        }
        last = rd_kafka_message_errstr(message.get());
        // A previous check may still get an answer about what librdkafka took for an offset after a
        // broken checksum. That answer can stop the fetches of this check: see KafkaSource's
        // restart().
        if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
            state_->assign(partition, offset);
        }
    }
    throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT,
                     "offset " + std::to_string(offset.raw()) + " could not be read within " +
                         std::to_string(limit.count()) + " s: " + last);
}

}  // namespace onceward
