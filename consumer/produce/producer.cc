#include "consumer/produce/producer.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <utility>

#include "consumer/kafka/kafka_handles.h"

namespace onceward {

std::string_view to_text(SendFailure failure) {
    static constexpr std::array<std::string_view, 3> texts{"passing", "record", "topic"};
    return texts.at(static_cast<std::size_t>(failure));
}

SendFailure send_failure(int code) {
    static constexpr std::array of_records{
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
        RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
        RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE};
    static constexpr std::array of_topics{
        RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
        RD_KAFKA_RESP_ERR_POLICY_VIOLATION,      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED};
    const auto error = static_cast<rd_kafka_resp_err_t>(code);
    if (std::ranges::find(of_records, error) != of_records.end()) return SendFailure::record;
    if (std::ranges::find(of_topics, error) != of_topics.end()) return SendFailure::topic;
    return SendFailure::passing;
}

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds queue_full_wait{100};
// The longest time within librdkafka without a check whether any broker answers.
constexpr milliseconds longest_flush{1000};

void set(rd_kafka_conf_t* configuration, const std::string& name, const std::string& value) {
    std::array<char, 512> reason{};
    if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), reason.data(),
                          reason.size()) != RD_KAFKA_CONF_OK)
        throw ProducerError("property " + name + ": " + reason.data());
}

KafkaConfiguration configure(const ProducerOptions& options) {
    KafkaConfiguration configuration(rd_kafka_conf_new());
    rd_kafka_conf_t* raw = configuration.get();
    set(raw, "bootstrap.servers", options.bootstrap_servers);
    set(raw, "client.id", "onceward");
    // The partitioner of Java's clients, so that a key keeps its partition whichever client
    // produces it.
    set(raw, "partitioner", "murmur2_random");
    set(raw, "linger.ms", std::to_string(options.linger.count()));
    set(raw, "queue.buffering.max.messages", std::to_string(options.queued_records_max));
    set(raw, "delivery.timeout.ms", std::to_string(options.delivery_timeout.count()));
    for (const auto& [name, value] : options.properties) set(raw, name, value.reveal());
    // DANGER: set it after the user's properties. Without it a retry whose first try had arrived
    // writes a second record.
    set(raw, "enable.idempotence", "true");
    return configuration;
}

KafkaHeaders copy_headers(std::span<const Header> headers) {
    if (headers.empty()) return nullptr;
    KafkaHeaders copy(rd_kafka_headers_new(headers.size()));
    for (const Header& header : headers) {
        rd_kafka_header_add(copy.get(), header.name.data(),
                            static_cast<ssize_t>(header.name.size()),
                            header.value ? header.value->data() : nullptr,
                            header.value ? static_cast<ssize_t>(header.value->size()) : 0);
    }
    return copy;
}

}  // namespace

bool is_time_refused(int code) { return code == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP; }

bool is_too_large(int code) {
    // The second code: the records are larger than the topic's segments.
    return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

struct Producer::State {
    std::function<void(const Delivery&)> handler;
    std::int64_t sent = 0;
    std::int64_t delivered = 0;
    std::int64_t failed = 0;
    std::string first_failure;
    std::string last_trouble;  // what the connections last complained of
    std::string bootstrap_servers;
    milliseconds bootstrap_again{};
    Clock::time_point last_answer = Clock::now();  // or since when nothing waits for one
    KafkaClient client;        // the last member: its end may still report deliveries to the others

    static void report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
        State& state = *static_cast<State*>(opaque);
        state.last_answer = Clock::now();
        Delivery delivery;
        delivery.tag = reinterpret_cast<std::uintptr_t>(message->_private);
        delivery.partition = Partition{message->partition};
        delivery.offset = Offset{message->offset};
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            ++state.delivered;
        } else {
            ++state.failed;
            delivery.error = rd_kafka_err2str(message->err);
            delivery.code = message->err;
            if (state.first_failure.empty()) state.first_failure = delivery.error;
        }
        if (state.handler) state.handler(delivery);
    }

    static void complain(rd_kafka_t*, int, const char* reason, void* opaque) {
        static_cast<State*>(opaque)->last_trouble = reason;
    }

    // DANGER: if a broker answers with an empty list of brokers, as one that shuts down does,
    // librdkafka forgets every broker and never asks the bootstrap servers again (seen with 2.14.2,
    // its issue 5301): all records would wait for their time-out, and the producer would be lost. A
    // known server is not added again, so asking too often does no harm.
    void find_brokers() {
        const auto now = Clock::now();
        if (rd_kafka_outq_len(client.get()) == 0) last_answer = now;
        if (now - last_answer < bootstrap_again) return;
        last_answer = now;
        rd_kafka_brokers_add(client.get(), bootstrap_servers.c_str());
    }

    void throw_if_fatal() const {
        std::array<char, 512> reason{};
        if (rd_kafka_fatal_error(client.get(), reason.data(), reason.size()) !=
            RD_KAFKA_RESP_ERR_NO_ERROR)
            throw ProducerError(std::string("the producer cannot continue: ") + reason.data());
    }
};

ProducerOptions producer_options(const KafkaOptions& options) {
    static constexpr std::array<std::string_view, 4> shared{"sasl.", "ssl.", "socket.", "broker."};
    ProducerOptions made;
    made.bootstrap_servers = options.bootstrap_servers;
    for (const auto& [name, value] : options.properties) {
        const bool is_shared = name == "security.protocol" || name == "message.max.bytes" ||
                               name == "enable.ssl.certificate.verification" ||
                               std::ranges::any_of(shared, [&name = name](std::string_view prefix) {
                                   return name.starts_with(prefix);
                               });
        if (is_shared) made.properties.emplace(name, value);
    }
    return made;
}

Producer::Producer(ProducerOptions options) : state_(std::make_unique<State>()) {
    state_->bootstrap_servers = options.bootstrap_servers;
    state_->bootstrap_again = options.bootstrap_again;
    KafkaConfiguration configuration = configure(options);
    rd_kafka_conf_set_opaque(configuration.get(), state_.get());
    rd_kafka_conf_set_dr_msg_cb(configuration.get(), &State::report);
    rd_kafka_conf_set_error_cb(configuration.get(), &State::complain);
    rd_kafka_conf_set_log_cb(configuration.get(), nullptr);  // it would write to standard error
    std::array<char, 512> reason{};
    state_->client.reset(
        rd_kafka_new(RD_KAFKA_PRODUCER, configuration.get(), reason.data(), reason.size()));
    if (!state_->client) throw ProducerError(reason.data());
    static_cast<void>(configuration.release());
}

Producer::~Producer() {
    // Nothing is left to wait for: a caller that wanted delivery has called flush().
    rd_kafka_purge(state_->client.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    state_->handler = nullptr;
    rd_kafka_flush(state_->client.get(), 0);
}

void Producer::on_delivery(std::function<void(const Delivery&)> handler) {
    state_->handler = std::move(handler);
}

void Producer::send(const OutgoingRecord& record) {
    const std::string topic(record.topic);
    KafkaHeaders headers = copy_headers(record.headers);
    for (;;) {
        std::array<rd_kafka_vu_t, 8> arguments{};
        std::size_t count = 0;
        const auto add = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
            arguments[count].vtype = type;
            return arguments[count++];
        };
        const auto memory = [](const std::optional<std::string_view>& bytes) {
            // Kafka distinguishes empty from null by the pointer; an empty view may have none.
            return bytes ? const_cast<char*>(bytes->data() != nullptr ? bytes->data() : "")
                         : nullptr;
        };
        add(RD_KAFKA_VTYPE_TOPIC).u.cstr = topic.c_str();
        add(RD_KAFKA_VTYPE_PARTITION).u.i32 =
            record.partition ? record.partition->raw() : RD_KAFKA_PARTITION_UA;
        add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
        add(RD_KAFKA_VTYPE_KEY).u.mem = {memory(record.key), record.key ? record.key->size() : 0};
        add(RD_KAFKA_VTYPE_VALUE).u.mem = {memory(record.payload),
                                           record.payload ? record.payload->size() : 0};
        add(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = record.timestamp ? record.timestamp->count() : 0;
        add(RD_KAFKA_VTYPE_OPAQUE).u.ptr = reinterpret_cast<void*>(record.tag);
        if (headers) add(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();

        const KafkaErrorObject error(
            rd_kafka_produceva(state_->client.get(), arguments.data(), count));
        if (!error) break;
        const rd_kafka_resp_err_t code = rd_kafka_error_code(error.get());
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            state_->throw_if_fatal();
            throw RecordRefused(code, topic + ": " + rd_kafka_error_string(error.get()));
        }
        poll(queue_full_wait);
    }
    static_cast<void>(headers.release());
    ++state_->sent;
    poll();
}

void Producer::poll(milliseconds wait) {
    rd_kafka_poll(state_->client.get(), static_cast<int>(wait.count()));
    state_->find_brokers();
    state_->throw_if_fatal();
}

bool Producer::flush(milliseconds limit) {
    const auto end = Clock::now() + limit;
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
        const milliseconds wait = std::clamp(left, milliseconds{0}, longest_flush);
        const bool empty = rd_kafka_flush(state_->client.get(), static_cast<int>(wait.count())) ==
                           RD_KAFKA_RESP_ERR_NO_ERROR;
        state_->find_brokers();
        state_->throw_if_fatal();
        if (empty || left <= longest_flush) return empty;
    }
}

std::int32_t Producer::partitions(const std::string& topic, milliseconds limit) {
    const KafkaTopic handle(rd_kafka_topic_new(state_->client.get(), topic.c_str(), nullptr));
    if (!handle) throw ProducerError(topic + ": " + rd_kafka_err2str(rd_kafka_last_error()));
    const rd_kafka_metadata_t* answer = nullptr;
    const rd_kafka_resp_err_t error = rd_kafka_metadata(state_->client.get(), 0, handle.get(),
                                                        &answer, static_cast<int>(limit.count()));
    poll();  // brings the connections' complaints
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw ProducerError("no broker answered: " + (state_->last_trouble.empty()
                                                          ? std::string(rd_kafka_err2str(error))
                                                          : state_->last_trouble));
    const KafkaMetadata metadata(answer);
    const rd_kafka_metadata_topic_t& found = metadata->topics[0];
    if (metadata->topic_cnt != 1 || found.err != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw ProducerError("topic " + topic + ": " + rd_kafka_err2str(found.err));
    return found.partition_cnt;
}

std::int64_t Producer::sent() const { return state_->sent; }
std::int64_t Producer::delivered() const { return state_->delivered; }
std::int64_t Producer::failed() const { return state_->failed; }
const std::string& Producer::first_failure() const { return state_->first_failure; }

void wait_for_turn(Producer& producer, std::chrono::steady_clock::time_point begin,
                   std::int64_t sent, const std::optional<double>& rate,
                   const std::function<bool()>& stopped) {
    if (!rate) return;
    const auto due = begin + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(static_cast<double>(sent) / *rate));
    while (Clock::now() < due && !stopped()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - Clock::now());
        producer.poll(
            std::clamp(left, std::chrono::milliseconds{1}, std::chrono::milliseconds{250}));
    }
}

}  // namespace onceward
