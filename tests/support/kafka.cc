#include "tests/support/kafka.h"

#include <cstdlib>
#include <utility>

#include "tests/support/eventually.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_handles.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

void set(rd_kafka_conf_t* configuration, const std::string& name, const std::string& value) {
    char error[512];
    if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), error, sizeof error) !=
        RD_KAFKA_CONF_OK)
        throw std::runtime_error(error);
}

// Called from rd_kafka_poll() and rd_kafka_flush(): the first failed delivery is remembered.
void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    auto* failure = static_cast<rd_kafka_resp_err_t*>(message->_private);
    if (*failure == RD_KAFKA_RESP_ERR_NO_ERROR) *failure = message->err;
}

std::optional<std::string> optional_bytes(const void* bytes, std::size_t size) {
    if (bytes == nullptr) return std::nullopt;
    return std::string(static_cast<const char*>(bytes), size);
}

ReadMessage copy(const rd_kafka_message_t* message) {
    ReadMessage result;
    result.partition = message->partition;
    result.offset = message->offset;
    result.key = optional_bytes(message->key, message->key_len);
    result.payload = optional_bytes(message->payload, message->len);
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return result;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t index = 0; rd_kafka_header_get_all(headers, index, &name, &value, &size) ==
                                RD_KAFKA_RESP_ERR_NO_ERROR;
         ++index)
        result.headers.emplace_back(name, optional_bytes(value, size));
    return result;
}

void enqueue(rd_kafka_t* producer, const std::string& topic, const ProducedMessage& message,
             rd_kafka_resp_err_t& failure) {
    rd_kafka_headers_t* headers = rd_kafka_headers_new(message.headers.size());
    for (const auto& [name, value] : message.headers)
        rd_kafka_header_add(headers, name.c_str(), -1, value ? value->data() : nullptr,
                            value ? static_cast<ssize_t>(value->size()) : 0);
    // librdkafka's macros cast without brackets: only names may stand in them.
    char* payload = message.payload ? const_cast<char*>(message.payload->data()) : nullptr;
    const std::size_t payload_size = message.payload ? message.payload->size() : 0;
    const char* key = message.key ? message.key->data() : nullptr;
    const std::size_t key_size = message.key ? message.key->size() : 0;
    for (;;) {
        const rd_kafka_resp_err_t code = rd_kafka_producev(
            producer, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(message.partition),
            RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_VALUE(payload, payload_size),
            RD_KAFKA_V_TIMESTAMP(message.timestamp_ms), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(&failure), RD_KAFKA_V_END);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return;
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            rd_kafka_headers_destroy(headers);
            check_kafka(code, "produce");
        }
        rd_kafka_poll(producer, 100);
    }
}

}  // namespace

void Kafka::Finish::operator()(rd_kafka_s* handle) const { rd_kafka_destroy(handle); }

Kafka::Kafka(const std::string& bootstrap_servers, const Properties& properties)
    : bootstrap_servers_(bootstrap_servers), properties_(properties), handle_(producer({})) {}

Kafka::~Kafka() = default;

Kafka::Handle Kafka::open(bool is_producer, const Properties& extra) const {
    std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)> configuration(
        rd_kafka_conf_new(), rd_kafka_conf_destroy);
    set(configuration.get(), "bootstrap.servers", bootstrap_servers_);
    // A broker that is not up yet is asked again soon, and its absence is not worth a line on
    // stderr.
    set(configuration.get(), "reconnect.backoff.max.ms", "200");
    set(configuration.get(), "log_level", "2");
    for (const auto& [name, value] : properties_) set(configuration.get(), name, value);
    for (const auto& [name, value] : extra) set(configuration.get(), name, value);
    if (is_producer) rd_kafka_conf_set_dr_msg_cb(configuration.get(), delivered);
    char error[512];
    Handle handle(rd_kafka_new(is_producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER,
                               configuration.get(), error, sizeof error));
    if (!handle) throw std::runtime_error(error);
    configuration.release();  // the handle owns it now
    return handle;
}

Kafka::Handle Kafka::producer(Properties extra) const {
    extra.insert(extra.begin(), {{"enable.idempotence", "true"}, {"linger.ms", "5"}});
    return open(true, extra);
}

Kafka::Handle Kafka::consumer(const std::string& group) const {
    return open(false, {{"group.id", group},
                        {"enable.auto.commit", "false"},
                        {"enable.partition.eof", "true"},
                        {"auto.offset.reset", "earliest"},
                        {"isolation.level", "read_committed"}});
}

bool Kafka::answers(std::chrono::milliseconds limit) {
    const rd_kafka_metadata_t* raw = nullptr;
    const rd_kafka_resp_err_t code =
        rd_kafka_metadata(handle_.get(), 0, nullptr, &raw, static_cast<int>(limit.count()));
    const KafkaOwned<const rd_kafka_metadata_t> metadata(raw);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR && raw->broker_cnt > 0;
}

void Kafka::send(rd_kafka_s* producer, const std::string& topic,
                 const std::vector<ProducedMessage>& messages) const {
    rd_kafka_resp_err_t failure = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (const ProducedMessage& message : messages) {
        enqueue(producer, topic, message, failure);
        rd_kafka_poll(producer, 0);
    }
    const rd_kafka_resp_err_t flushed = rd_kafka_flush(producer, 10 * kafka_answer_limit_ms);
    if (flushed != RD_KAFKA_RESP_ERR_NO_ERROR) {
        // The callback must not find `failure` gone: nothing stays in the queues.
        rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(producer, kafka_answer_limit_ms);
    }
    check_kafka(flushed, "produce");
    check_kafka(failure, "produce");
}

void Kafka::produce(const std::string& topic, const std::vector<ProducedMessage>& messages) {
    const std::lock_guard lock(sending_);
    send(handle_.get(), topic, messages);
}

void Kafka::produce_in_transaction(const std::string& topic,
                                   const std::vector<ProducedMessage>& messages, Transaction end) {
    const Handle transactional = producer({{"transactional.id", unique_name("transaction")}});
    rd_kafka_t* handle = transactional.get();
    check_kafka(rd_kafka_init_transactions(handle, kafka_answer_limit_ms), "init_transactions");
    check_kafka(rd_kafka_begin_transaction(handle), "begin_transaction");
    send(handle, topic, messages);
    switch (end) {
        case Transaction::commit:
            check_kafka(rd_kafka_commit_transaction(handle, kafka_answer_limit_ms),
                        "commit_transaction");
            break;
        case Transaction::abort:
            check_kafka(rd_kafka_abort_transaction(handle, kafka_answer_limit_ms),
                        "abort_transaction");
            break;
    }
}

std::optional<std::int64_t> Kafka::committed_offset(const std::string& group,
                                                    const std::string& topic, int partition) {
    const Handle handle = consumer(group);
    const auto list = one_partition(topic, partition, RD_KAFKA_OFFSET_INVALID);
    check_kafka(rd_kafka_committed(handle.get(), list.get(), kafka_answer_limit_ms), "committed");
    check_kafka(list->elems[0].err, "committed");
    if (list->elems[0].offset < 0) return std::nullopt;
    return list->elems[0].offset;
}

void Kafka::set_committed_offset(const std::string& group, const std::string& topic, int partition,
                                 std::int64_t offset) {
    const Handle handle = consumer(group);
    const auto list = one_partition(topic, partition, offset);
    check_kafka(rd_kafka_commit(handle.get(), list.get(), 0), "commit");
    check_kafka(list->elems[0].err, "commit");
}

std::pair<std::int64_t, std::int64_t> Kafka::offsets(const std::string& topic, int partition) {
    std::int64_t first = 0;
    std::int64_t end = 0;
    rd_kafka_resp_err_t code{};
    // For a topic that was just created (again) the client may still ask its previous leader.
    eventually(std::chrono::milliseconds(kafka_answer_limit_ms), [&] {
        code = rd_kafka_query_watermark_offsets(handle_.get(), topic.c_str(), partition, &first,
                                                &end, kafka_answer_limit_ms);
        return code != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION &&
               code != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
    });
    check_kafka(code, "query_watermark_offsets");
    return {first, end};
}

std::vector<ReadMessage> Kafka::read_all(const std::string& topic, int partitions) {
    const Handle handle = consumer(unique_name("reader"));
    const KafkaOwned<rd_kafka_topic_partition_list_t> list(
        rd_kafka_topic_partition_list_new(partitions));
    for (int partition = 0; partition < partitions; ++partition)
        rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    check_kafka(rd_kafka_assign(handle.get(), list.get()), "assign");
    std::vector<ReadMessage> messages;
    for (int at_end = 0; at_end < partitions;) {
        const KafkaOwned<rd_kafka_message_t> message(
            rd_kafka_consumer_poll(handle.get(), kafka_answer_limit_ms));
        if (!message) throw std::runtime_error("read_all: no end of " + topic + " in time");
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            ++at_end;
        } else {
            check_kafka(message->err, "read_all");
            messages.push_back(copy(message.get()));
        }
    }
    return messages;
}

std::string kafka_bootstrap_servers() {
    const char* given = std::getenv("ONCEWARD_TEST_KAFKA");
    return given != nullptr ? given : shared_broker().bootstrap_servers();
}

int partition_of(const std::string& key, int partitions) {
    return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), partitions, nullptr,
                                            nullptr);
}

Kafka& kafka() {
    static Kafka shared(kafka_bootstrap_servers());
    return shared;
}

}  // namespace onceward::support
