// Which librdkafka properties a user may set. Validated against librdkafka itself, on a scratch
// configuration that never becomes a client.

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "consumer/kafka/kafka_handles.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

struct RefusedProperty {
    std::string_view name;
    std::string_view
        harmless;  // the one value that is allowed, because it is set anyway; '' if there is none
    std::string_view reason;
};

constexpr std::string_view commits =
    "offsets are committed only after the transaction that wrote the messages. Remove it.";

constexpr std::array refusals = {
    RefusedProperty{"enable.auto.commit", "false", commits},
    RefusedProperty{"auto.commit.enable", "false", commits},
    RefusedProperty{"auto.commit.interval.ms", "", commits},
    RefusedProperty{"enable.auto.offset.store", "false", commits},
    RefusedProperty{"offset.store.method", "", commits},
    RefusedProperty{"offset.store.path", "", commits},
    RefusedProperty{"offset.store.sync.interval.ms", "", commits},
    RefusedProperty{
        "auto.offset.reset", "error",
        "librdkafka would skip messages without an error. Write `start` and `on_out_of_range` at "
        "the topic."},
    RefusedProperty{"isolation.level", "read_committed",
            "messages of aborted transactions would be applied. Remove it."},
    RefusedProperty{"check.crcs", "true",
                    "a damaged batch would be read as if it were sound. Remove it."},
    RefusedProperty{"enable.partition.eof", "true",
            "the end of a partition must be known to move past control records. Remove it."},
    RefusedProperty{"group.id", "",
                    "the group has an option of its own. Write `group` at the top level."},
    RefusedProperty{
        "group.instance.id", "",
        "two workers must not share one. Write `kafka.instance_id`; the worker's number is added."},
    RefusedProperty{"bootstrap.servers", "",
            "the brokers have an option of their own: `kafka.bootstrap_servers`."},
    RefusedProperty{"metadata.broker.list", "",
            "the brokers have an option of their own: `kafka.bootstrap_servers`."},
    RefusedProperty{"allow.auto.create.topics", "false",
            "a misspelt topic would be created and stay empty. Create topics first."},
    RefusedProperty{"plugin.library.paths", "",
            "foreign code between Kafka and the worker could drop messages unseen. Remove it."},
    RefusedProperty{"test.mock.num.brokers", "",
            "the worker would read from a broker inside itself. Remove it."},
    RefusedProperty{"transactional.id", "",
            "it belongs to producers; the worker's transaction is PostgreSQL's. Remove it."},
    RefusedProperty{"enable.gapless.guarantee", "", "it belongs to producers. Remove it."},
};

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// The names that librdkafka itself lists, from its dump of a configuration with every default.
const std::vector<std::string>& known_names() {
    static const std::vector<std::string> names = [] {
        const KafkaConfiguration scratch(rd_kafka_conf_new());
        std::size_t count = 0;
        const char** dump = rd_kafka_conf_dump(scratch.get(), &count);
        std::vector<std::string> list;
        for (std::size_t index = 0; index + 1 < count; index += 2) list.emplace_back(dump[index]);
        rd_kafka_conf_dump_free(dump, count);
        // Those without a default are not in the dump.
        for (const char* name : {"sasl.username", "sasl.password", "ssl.ca.location", "ssl.ca.pem",
                                 "ssl.certificate.location", "ssl.key.location", "ssl.key.password",
                                 "ssl.keystore.location", "ssl.keystore.password", "client.rack"}) {
            list.emplace_back(name);
        }
        return list;
    }();
    return names;
}

}  // namespace

std::string refused_property(const std::string& name, const std::string& value) {
    for (const RefusedProperty& refusal : refusals) {
        if (name != refusal.name) continue;
        if (!refusal.harmless.empty() && lower_case(value) == refusal.harmless) return {};
        return "`" + name + "` is refused: " + std::string(refusal.reason);
    }
    // Callbacks and pointers cannot come from a text, and ours must stay.
    if (name.ends_with("_cb") || name == "opaque" || name == "default_topic_conf") {
        return "`" + name + "` is refused: it is set by a program, not by a text. Remove it.";
    }
    return {};
}

bool secret_property(const std::string& name) {
    return name.ends_with("password") || name.ends_with("secret") ||
           is_one_of(name, {"ssl.key.pem", "sasl.oauthbearer.config", "sasl.jaas.config",
                            "sasl.kerberos.kinit.cmd", "ssl_key"}) ||
           name.ends_with("private.key.pem") || name.ends_with("private.key.passphrase") ||
           name.ends_with("passphrase");
}

std::string unknown_property(const std::string& name, const std::string& value) {
    const KafkaConfiguration scratch(rd_kafka_conf_new());
    std::array<char, 512> error{};
    const rd_kafka_conf_res_t result =
        rd_kafka_conf_set(scratch.get(), name.c_str(), value.c_str(), error.data(), error.size());
    switch (result) {
        case RD_KAFKA_CONF_OK: return {};
        case RD_KAFKA_CONF_UNKNOWN: {
            const std::string guess = did_you_mean(name, known_names());
            return "librdkafka has no property `" + name + "`" + (guess.empty() ? "." : guess);
        }
        case RD_KAFKA_CONF_INVALID:
            // librdkafka's own words repeat the value.
            if (secret_property(name))
                return "librdkafka does not accept this value of `" + name + "`.";
            return std::string(error.data()) +
                   ". See librdkafka's CONFIGURATION.md for what it accepts.";
    }
    return {};
}

bool classic_protocol(const KafkaOptions& options) {
    const auto protocol = options.properties.find("group.protocol");
    return protocol == options.properties.end() || protocol->second.reveal() != "consumer";
}

std::chrono::milliseconds time_property(const KafkaOptions& options, const std::string& name,
                                        std::chrono::milliseconds otherwise) {
    const auto found = options.properties.find(name);
    if (found == options.properties.end()) return otherwise;
    return std::chrono::milliseconds(std::stol(found->second.reveal()));
}

}  // namespace onceward
