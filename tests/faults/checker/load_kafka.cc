#include "tests/faults/checker/load_kafka.h"

#include <charconv>
#include <set>
#include <stdexcept>

#include "tests/faults/checker/kafka_handle.h"

namespace onceward::checker {
namespace {

std::string bytes_of(const void* data, std::size_t size) {
    return {static_cast<const char*>(data), size};
}

class Reader {
  public:
    Reader(const KafkaSource& source, Evidence& evidence)
        : source_(source),
          evidence_(evidence),
          consumer_(open_consumer(source, "read_committed")),
          deadline_(std::chrono::steady_clock::now() + source.limit) {
        for (const DeadLetter& letter : evidence.dead_letters) wanted_.insert(letter.place);
        for (std::size_t i = 0; i < evidence.topics.size(); ++i) {
            topics_[evidence.topics[i].name] = static_cast<int>(i);
        }
    }

    void read() {
        evidence_.log.clear();
        evidence_.contents.clear();
        find_partitions();
        const PartitionList list(
            rd_kafka_topic_partition_list_new(static_cast<int>(evidence_.log.size())));
        for (const PartitionLog& log : evidence_.log) {
            if (log.begin == log.end) continue;
            rd_kafka_topic_partition_list_add(list.get(), topic_name(log.name).c_str(),
                                              log.name.partition)
                ->offset = log.begin;
        }
        throw_on_error(rd_kafka_assign(consumer_.get(), list.get()), "assign");
        for (std::set<PartitionName> ended; ended.size() < static_cast<std::size_t>(list->cnt);) {
            if (std::chrono::steady_clock::now() > deadline_) {
                throw std::runtime_error("Kafka: the log was not read in time");
            }
            const KafkaMessage message(rd_kafka_consumer_poll(consumer_.get(), 500));
            if (!message) continue;
            if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                ended.insert(name_of(*message));
            } else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                take(message.get());
            } else if (message->rkt != nullptr) {
                throw_on_error(message->err, "reading " + topic_name(name_of(*message)));
            }
        }
    }

  private:
    const std::string& topic_name(const PartitionName& name) const {
        return evidence_.topics[static_cast<std::size_t>(name.topic)].name;
    }
    PartitionName name_of(const rd_kafka_message_t& message) const {
        return {topics_.at(rd_kafka_topic_name(message.rkt)), message.partition};
    }

    // Ends are those of all messages: after the last stable offset an open transaction may lie.
    void find_partitions() {
        const Consumer all = open_consumer(source_, "read_uncommitted");
        for (const auto& [topic, number] : topics_) {
            const int count = partition_count(all.get(), topic, source_.limit);
            for (int partition = 0; partition < count; ++partition) {
                const auto [begin, end] = range_of(all.get(), topic, partition, source_.limit);
                places_[{number, partition}] = evidence_.log.size();
                evidence_.log.push_back({.name = {number, partition}, .begin = begin, .end = end});
            }
        }
    }

    void take(rd_kafka_message_t* message) {
        const PartitionName name = name_of(*message);
        const Place place{name.topic, name.partition, message->offset};
        rd_kafka_headers_t* headers = nullptr;
        const bool has_headers =
            rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR;
        LogRecord record{.offset = message->offset};
        const void* value = nullptr;
        std::size_t size = 0;
        if (has_headers &&
            rd_kafka_header_get_last(headers, source_.id_header.c_str(), &value, &size) ==
                RD_KAFKA_RESP_ERR_NO_ERROR &&
            value != nullptr) {
            const char* digits = static_cast<const char*>(value);
            std::from_chars(digits, digits + size, record.id);
        }
        evidence_.log[places_.at(name)].records.push_back(record);
        if (wanted_.contains(place)) {
            evidence_.contents[place] = content(*message, has_headers ? headers : nullptr);
        }
    }

    static Content content(const rd_kafka_message_t& message, const rd_kafka_headers_t* headers) {
        Content content;
        if (message.key != nullptr) content.key = bytes_of(message.key, message.key_len);
        if (message.payload != nullptr) content.payload = bytes_of(message.payload, message.len);
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        for (std::size_t i = 0;
             headers != nullptr && rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
                                       RD_KAFKA_RESP_ERR_NO_ERROR;
             ++i) {
            std::optional<std::string> bytes;
            if (value != nullptr) bytes = bytes_of(value, size);
            content.headers.emplace_back(name, bytes);
        }
        return content;
    }

    const KafkaSource& source_;
    Evidence& evidence_;
    Consumer consumer_;
    std::chrono::steady_clock::time_point deadline_;
    std::set<Place> wanted_;
    std::map<std::string, int> topics_;
    std::map<PartitionName, std::size_t> places_;
};

}  // namespace

void load_kafka(const KafkaSource& source, Evidence& evidence) {
    Reader(source, evidence).read();
    evidence.committed = committed_offsets(source, evidence);
}

std::vector<CommittedOffset> committed_offsets(const KafkaSource& source,
                                               const Evidence& evidence) {
    const Consumer consumer = open_consumer(source, "read_uncommitted");
    return committed_offsets(consumer.get(), source.limit, evidence);
}

std::vector<CommittedOffset> committed_offsets(rd_kafka_s* consumer,
                                               std::chrono::milliseconds limit,
                                               const Evidence& evidence) {
    const PartitionList list(rd_kafka_topic_partition_list_new(4));
    std::map<std::string, int> topics;
    for (std::size_t i = 0; i < evidence.topics.size(); ++i) {
        const std::string& topic = evidence.topics[i].name;
        topics[topic] = static_cast<int>(i);
        const int count = partition_count(consumer, topic, limit);
        for (int partition = 0; partition < count; ++partition) {
            rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
        }
    }
    throw_on_error(rd_kafka_committed(consumer, list.get(), static_cast<int>(limit.count())),
                   "committed offsets");
    std::vector<CommittedOffset> committed;
    for (int i = 0; i < list->cnt; ++i) {
        const rd_kafka_topic_partition_t& entry = list->elems[i];
        throw_on_error(entry.err, std::string("committed offset of ") + entry.topic);
        if (entry.offset < 0) continue;  // none
        committed.push_back(
            {.name = {topics.at(entry.topic), entry.partition}, .offset = entry.offset});
    }
    return committed;
}

}  // namespace onceward::checker
