#include "tests/support/kafka_sender.h"

#include "tests/support/eventually.h"
#include "tests/support/kafka_handles.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

constexpr int sender_limit_ms = 60'000;
constexpr int poll_ms = 50;
constexpr int partition_tries = 400;

struct Finish {
    void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
};
using Handle = std::unique_ptr<rd_kafka_t, Finish>;

using Callback = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void*);

Handle open(rd_kafka_type_t type, const Properties& properties, Callback delivered) {
    std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)> configuration(
        rd_kafka_conf_new(), rd_kafka_conf_destroy);
    char error[512];
    for (const auto& [name, value] : properties) {
        if (rd_kafka_conf_set(configuration.get(), name.c_str(), value.c_str(), error,
                              sizeof error) != RD_KAFKA_CONF_OK)
            throw std::runtime_error(error);
    }
    if (delivered != nullptr) rd_kafka_conf_set_dr_msg_cb(configuration.get(), delivered);
    Handle handle(rd_kafka_new(type, configuration.get(), error, sizeof error));
    if (!handle) throw std::runtime_error(error);
    configuration.release();  // the handle owns it now
    return handle;
}

struct Receipt {
    std::int64_t offset = -1;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__IN_PROGRESS;
};

void note_receipt(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    auto* receipt = static_cast<Receipt*>(message->_private);
    receipt->offset = message->offset;
    receipt->error = message->err;
}

void enqueue(rd_kafka_t* producer, const AddressedMessage& addressed, Receipt& receipt) {
    const ProducedMessage& message = addressed.message;
    rd_kafka_headers_t* headers = rd_kafka_headers_new(message.headers.size());
    for (const auto& [name, value] : message.headers)
        rd_kafka_header_add(headers, name.c_str(), -1, value ? value->data() : nullptr,
                            value ? static_cast<ssize_t>(value->size()) : 0);
    // librdkafka's macros cast without brackets: only names may stand in them.
    char* payload = message.payload ? const_cast<char*>(message.payload->data()) : nullptr;
    const std::size_t payload_size = message.payload ? message.payload->size() : 0;
    const char* key = message.key ? message.key->data() : nullptr;
    const std::size_t key_size = message.key ? message.key->size() : 0;
    const char* topic = addressed.topic.c_str();
    for (int tries = 0;; ++tries) {
        const rd_kafka_resp_err_t code = rd_kafka_producev(
            producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(message.partition),
            RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_VALUE(payload, payload_size),
            RD_KAFKA_V_TIMESTAMP(message.timestamp_ms), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(&receipt), RD_KAFKA_V_END);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return;
        if (code != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || tries == partition_tries) {
            rd_kafka_headers_destroy(headers);
            check_kafka(code, "produce");
        }
        // It was added a moment ago: news of it is on its way.
        rd_kafka_poll(producer, poll_ms);
    }
}

// Again and again while the client says that another try may do, such as while a broker is away.
template <class Step>
void with_retries(const std::string& what, Step step) {
    for (int tries = 0;; ++tries) {
        rd_kafka_error_t* raw = step();
        if (raw == nullptr) return;
        if (tries == 5 || rd_kafka_error_is_retriable(raw) == 0) check_kafka(raw, what);
        rd_kafka_error_destroy(raw);
    }
}

}  // namespace

struct KafkaSender::State {
    Handle producer;
};

KafkaSender::KafkaSender(const std::string& bootstrap_servers, Kind kind)
    : state_(std::make_unique<State>()) {
    Properties properties{{"bootstrap.servers", bootstrap_servers},
                          {"enable.idempotence", "true"},
                          {"linger.ms", "2"},
                          {"topic.metadata.refresh.interval.ms", "500"},
                          {"reconnect.backoff.max.ms", "200"},
                          {"log_level", "2"}};
    if (kind == Kind::transactional)
        properties.emplace_back("transactional.id", unique_name("transaction"));
    state_->producer = open(RD_KAFKA_PRODUCER, properties, note_receipt);
    if (kind == Kind::plain) return;
    rd_kafka_t* producer = state_->producer.get();
    with_retries("init_transactions",
                 [&] { return rd_kafka_init_transactions(producer, sender_limit_ms); });
}

KafkaSender::~KafkaSender() = default;

std::vector<std::int64_t> KafkaSender::send(const std::vector<AddressedMessage>& messages) {
    rd_kafka_t* producer = state_->producer.get();
    std::vector<Receipt> receipts(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) enqueue(producer, messages[i], receipts[i]);
    const rd_kafka_resp_err_t flushed = rd_kafka_flush(producer, sender_limit_ms);
    if (flushed != RD_KAFKA_RESP_ERR_NO_ERROR) {
        // The callback must not find the receipts gone: nothing stays in the queues.
        rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(producer, sender_limit_ms);
    }
    check_kafka(flushed, "produce");
    std::vector<std::int64_t> offsets;
    for (const Receipt& receipt : receipts) {
        check_kafka(receipt.error, "produce");
        if (receipt.offset < 0) throw std::runtime_error("produce: a message without an offset");
        offsets.push_back(receipt.offset);
    }
    return offsets;
}

std::vector<std::int64_t> KafkaSender::send_in_transaction(
    const std::vector<AddressedMessage>& messages, Kafka::Transaction end,
    std::chrono::milliseconds open) {
    rd_kafka_t* producer = state_->producer.get();
    check_kafka(rd_kafka_begin_transaction(producer), "begin_transaction");
    std::vector<std::int64_t> offsets = send(messages);
    eventually(open, [] { return false; });
    switch (end) {
        case Kafka::Transaction::commit:
            with_retries("commit_transaction",
                         [&] { return rd_kafka_commit_transaction(producer, sender_limit_ms); });
            break;
        case Kafka::Transaction::abort:
            with_retries("abort_transaction",
                         [&] { return rd_kafka_abort_transaction(producer, sender_limit_ms); });
            break;
    }
    return offsets;
}

bool commit_as_a_member(const ForeignCommit& commit) {
    Properties properties{{"bootstrap.servers", commit.bootstrap_servers},
                          {"group.id", commit.group},
                          {"enable.auto.commit", "false"},
                          {"log_level", "2"}};
    for (const auto& property : commit.properties) properties.push_back(property);
    const Handle consumer = open(RD_KAFKA_CONSUMER, properties, nullptr);
    rd_kafka_poll_set_consumer(consumer.get());
    const auto own = one_partition(commit.own_topic, RD_KAFKA_PARTITION_UA, 0);
    check_kafka(rd_kafka_subscribe(consumer.get(), own.get()), "subscribe");
    const auto wanted = one_partition(commit.topic, commit.partition, commit.offset);
    const auto deadline = std::chrono::steady_clock::now() + commit.limit;
    bool done = false;
    while (!done && std::chrono::steady_clock::now() < deadline) {
        const KafkaOwned<rd_kafka_message_t> message(
            rd_kafka_consumer_poll(consumer.get(), poll_ms));
        const KafkaOwned<rd_kafka_topic_partition_list_t> assigned([&] {
            rd_kafka_topic_partition_list_t* list = nullptr;
            check_kafka(rd_kafka_assignment(consumer.get(), &list), "assignment");
            return list;
        }());
        if (assigned->cnt == 0) continue;
        done = rd_kafka_commit(consumer.get(), wanted.get(), 0) == RD_KAFKA_RESP_ERR_NO_ERROR &&
               wanted->elems[0].err == RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    rd_kafka_consumer_close(consumer.get());
    return done;
}

}  // namespace onceward::support
