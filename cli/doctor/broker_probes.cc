#include <algorithm>

#include "cli/doctor/judgements.h"
#include "cli/doctor/probes.h"
#include "cli/operator/broker_view.h"
#include "dedup/base/types.h"

namespace onceward {
namespace {

constexpr const char* area = "brokers";

std::string property(const KafkaOptions& kafka, const std::string& name,
                     const std::string& otherwise) {
    const auto found = kafka.properties.find(name);
    return found == kafka.properties.end() ? otherwise : found->second.reveal();
}

// `over SASL_SSL with SCRAM-SHA-512`
std::string protocol_text(const KafkaOptions& kafka) {
    const std::string protocol = property(kafka, "security.protocol", "PLAINTEXT");
    const bool sasl = protocol.starts_with("SASL") || protocol.starts_with("sasl");
    return "over " + protocol +
           (sasl ? " with " + property(kafka, "sasl.mechanism", "GSSAPI") : "");
}

// The client gives up before the probe's time is over, so that its own error is reported.
std::chrono::milliseconds within(std::chrono::milliseconds limit) { return limit * 4 / 5; }

// Whether these servers answer, TLS and login included.
std::vector<ProbeRow> reach(KafkaOptions kafka, const std::string& servers,
                            std::chrono::milliseconds limit) {
    kafka.bootstrap_servers = servers;
    BrokerView view(kafka);
    try {
        const std::size_t brokers = view.queries().broker_addresses(within(limit)).size();
        return {{ProbeVerdict::ok,
                 "answers " + protocol_text(kafka) + "; knows " + std::to_string(brokers) +
                     (brokers == 1 ? " broker" : " brokers"),
                 ""}};
    } catch (const KafkaError& error) {
        return {{ProbeVerdict::fault, no_answer(view.refusal(), error), ""}};
    }
}

// One topic as `check --connect` checks it. Whether there are too many workers depends on all
// topics together, so it is not checked here.
std::vector<ProbeRow> check_topic(Configuration configuration, const TopicConfiguration& topic) {
    if (configuration.topics.size() > 1) configuration.workers = 1;
    configuration.topics = {topic};
    return rows_of(check_brokers(configuration));
}

std::vector<ProbeRow> newest_record(const Configuration& configuration, const std::string& topic) {
    BrokerView view(configuration.kafka);
    const auto newest = view.queries().latest_timestamp(topic);
    if (!newest) return {{ProbeVerdict::note, "it has no record whose time could be read", ""}};
    const auto properties = view.queries().topic_properties(topic);
    const auto type = properties.find("message.timestamp.type");
    const bool by_broker = type != properties.end() && type->second == "LogAppendTime";
    return {judge_newest_record(*newest, since_1970<std::chrono::milliseconds>(), by_broker)};
}

}  // namespace

std::vector<std::string> broker_addresses(const Configuration& configuration,
                                          std::chrono::milliseconds limit) {
    BrokerView view(configuration.kafka);
    return view.queries().broker_addresses(within(limit));
}

Probe bootstrap_probe(const Configuration& configuration, std::chrono::milliseconds limit) {
    return {area, "bootstrap servers", [kafka = configuration.kafka, limit] {
                return reach(kafka, kafka.bootstrap_servers, limit);
            }};
}

std::vector<Probe> broker_probes(const Configuration& configuration,
                                 const std::vector<std::string>& brokers,
                                 std::chrono::milliseconds limit) {
    std::vector<Probe> probes;
    for (const std::string& broker : brokers) {
        probes.push_back({area, "broker " + broker, [kafka = configuration.kafka, broker, limit] {
                              return reach(kafka, broker, limit);
                          }});
    }
    for (const TopicConfiguration& topic : configuration.topics) {
        probes.push_back({"topics", "topic " + topic.name,
                          [configuration, topic] { return check_topic(configuration, topic); }});
        probes.push_back({"clocks", "topic " + topic.name, [configuration, name = topic.name] {
                              return newest_record(configuration, name);
                          }});
    }
    return probes;
}

}  // namespace onceward
