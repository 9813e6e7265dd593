#include "consumer/kafka/kafka_requests.h"

#include <openssl/x509.h>

#include <array>
#include <cstdio>
#include <utility>

#include "consumer/kafka/kafka_error.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

void set(rd_kafka_conf_t* configuration, const std::string& name, const std::string& value) {
    std::array<char, 512> text{};
    if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), text.data(), text.size()) !=
        RD_KAFKA_CONF_OK) {
        // The value may be a secret, and librdkafka's text may quote it.
        throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG,
                         "librdkafka refuses the property " + name +
                             (secret_property(name) ? "" : std::string(": ") + text.data()));
    }
}

// librdkafka takes the first bytes of any other protocol for the size of an answer, and the advice
// in its own message is then misleading.
std::string explained(const char* text) {
    std::string full(text);
    if (full.find("Invalid response size") != std::string::npos &&
        full.find("APIVERSION_QUERY") != std::string::npos) {
        full =
            "what answers there does not speak Kafka, or wants TLS: check bootstrap_servers and "
            "security.protocol. " +
            full;
    }
    return full;
}

void forward_log(const rd_kafka_t*, int level, const char* facility, const char* text) {
    const LogLevel mapped = level <= 3   ? LogLevel::error
                            : level <= 4 ? LogLevel::warning
                                         : LogLevel::debug;
    log(mapped, "kafka.client", {{"facility", facility}, {"error", explained(text)}});
}

void forward_error(rd_kafka_t*, int code, const char* reason, void* opaque) {
    log_warning("kafka.client", {{"code", code}, {"error", explained(reason)}});
    const auto* callbacks = static_cast<const ClientCallbacks*>(opaque);
    if (callbacks != nullptr && callbacks->error) callbacks->error(code, explained(reason));
}

void forward_rebalance(rd_kafka_t*, rd_kafka_resp_err_t code,
                       rd_kafka_topic_partition_list_t* partitions, void* opaque) {
    static_cast<ClientCallbacks*>(opaque)->rebalance(code, partitions);
}

// Reports why a broker's certificate was refused; librdkafka's own text does not say it. Runs on
// librdkafka's threads. Returning 0 refuses the certificate.
int report_certificate(rd_kafka_t*, const char* broker, std::int32_t, int* error, int, const char*,
                       std::size_t, char* text, std::size_t size, void*) {
    if (*error == X509_V_OK) return 1;
    const char* reason = X509_verify_cert_error_string(*error);
    log_error("kafka.certificate_refused", {{"broker", broker}, {"error", reason}});
    std::snprintf(text, size, "%s", reason);
    return 0;
}

// A commit that failed changes nothing: the fence is the truth, and the next commit has the same
// offsets or later ones.
void forward_commit(rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t*,
                    void*) {
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__NO_OFFSET) return;
    log_warning("kafka.offset_commit_failed",
                {{"code", static_cast<int>(code)}, {"error", rd_kafka_err2str(code)}});
}

// The guarantee depends on these; refused_property() stops users from setting other values.
constexpr std::array<std::pair<const char*, const char*>, 7> required{{
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "error"},
    {"isolation.level", "read_committed"},
    {"check.crcs", "true"},
    {"enable.partition.eof", "true"},
    {"allow.auto.create.topics", "false"},
}};

// librdkafka fetches nothing for this long after it found the queue full. Its default of a second
// empties the queue under load.
constexpr const char* full_queue_again_ms = "10";
// A broker answers the requests of a connection in turn. A seek, a question for an offset and the
// first fetch after them therefore wait for the fetch that is held open at a log's end. The default
// of 500 ms cost 3 seconds of a worker's start. A shorter time means more empty fetches while
// nothing arrives.
constexpr const char* fetch_wait_ms = "250";

KafkaConfiguration consumer_configuration(const KafkaOptions& options, int worker) {
    KafkaConfiguration configuration(rd_kafka_conf_new());
    rd_kafka_conf_t* raw = configuration.get();
    const bool classic = classic_protocol(options);
    // KIP-848's brokers choose the assignor themselves.
    if (classic && !options.instance_id.empty()) {
        // DANGER: a cooperative rebalance (KIP-429) has two rounds, and a static member that
        // returns gets its former share without a rebalance (KIP-345). Between the rounds that is
        // the share of the first round; the second never happens, and nobody owns the partitions
        // that were given up for it. An eager rebalance assigns all partitions at once.
        set(raw, "partition.assignment.strategy", "roundrobin");
    } else if (classic && rd_kafka_version() >= 0x020a0000) {
        // Before librdkafka 2.10 a commit during a cooperative rebalance loses the assignment.
        set(raw, "partition.assignment.strategy", "cooperative-sticky");
    }
    set(raw, "queued.max.messages.kbytes", std::to_string(queued_kilobytes));
    set(raw, "fetch.queue.backoff.ms", full_queue_again_ms);
    set(raw, "fetch.wait.max.ms", fetch_wait_ms);
    set(raw, "client.id", "onceward");
    for (const auto& [name, value] : options.properties) set(raw, name, value.reveal());
    for (const auto& [name, value] : required) set(raw, name, value);
    set(raw, "bootstrap.servers", options.bootstrap_servers);
    set(raw, "group.id", options.group);
    if (!options.instance_id.empty()) {
        set(raw, "group.instance.id", options.instance_id + "-" + std::to_string(worker));
    }
    const auto verified = options.properties.find("enable.ssl.certificate.verification");
    if (verified == options.properties.end() || verified->second.reveal() == "true") {
        rd_kafka_conf_set_ssl_cert_verify_cb(raw, report_certificate);
    }
    rd_kafka_conf_set_log_cb(raw, forward_log);
    rd_kafka_conf_set_error_cb(raw, forward_error);
    rd_kafka_conf_set_offset_commit_cb(raw, forward_commit);
    return configuration;
}

}  // namespace

KafkaClient make_consumer(const KafkaOptions& options, int worker, ClientCallbacks* callbacks) {
    KafkaConfiguration configuration = consumer_configuration(options, worker);
    if (callbacks != nullptr) {
        rd_kafka_conf_set_opaque(configuration.get(), callbacks);
        rd_kafka_conf_set_rebalance_cb(configuration.get(), forward_rebalance);
    }
    std::array<char, 512> text{};
    KafkaClient client(
        rd_kafka_new(RD_KAFKA_CONSUMER, configuration.get(), text.data(), text.size()));
    if (!client) throw KafkaError(RD_KAFKA_RESP_ERR__FAIL, text.data());
    configuration.release();
    rd_kafka_poll_set_consumer(client.get());
    return client;
}

}  // namespace onceward
