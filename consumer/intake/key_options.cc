#include "consumer/intake/key_options.h"

#include <algorithm>

namespace onceward {
namespace {

using Kind = KeySource::Kind;

struct Preset {
    std::string name;
    std::vector<KeySource> sources;
};

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all{
        // The name has spellings in use, and Kafka's header names are case-sensitive; they are one
        // kind of key.
        {"idempotency-key",
         {{Kind::header, "Idempotency-Key", true, "header:Idempotency-Key", false},
          {Kind::header, "idempotency-key", true, "header:Idempotency-Key", false}}},
        {"cloudevents", {{.kind = Kind::cloudevents}}},
        {"debezium-outbox", {{.kind = Kind::header, .name = "id"}}},
        // MassTransit writes the id into the envelope always, into a header where the transport has
        // headers.
        {"masstransit",
         {{Kind::header, "MessageId", false, "masstransit", false},
          {Kind::field, "/messageId", false, "masstransit", true}}},
        {"nservicebus", {{.kind = Kind::header, .name = "NServiceBus.MessageId"}}},
        {"kafka-coordinates", {{.kind = Kind::coordinates}}},
        {"body-sha256", {{.kind = Kind::payload_sha256}}},
    };
    return all;
}

}  // namespace

std::optional<std::vector<KeySource>> key_preset(const std::string& name) {
    const auto found = std::ranges::find(presets(), name, &Preset::name);
    return found == presets().end() ? std::nullopt : std::optional(found->sources);
}

std::vector<std::string> key_preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    return names;
}

std::string kind_of(const KeySource& source) {
    if (!source.kind_name.empty()) return source.kind_name;
    switch (source.kind) {
        case KeySource::Kind::header: return "header:" + source.name;
        case KeySource::Kind::record_key: return "record_key";
        case KeySource::Kind::field: return "field:" + source.name;
        case KeySource::Kind::cloudevents: return "cloudevents";
        case KeySource::Kind::payload_sha256: return "payload_sha256";
        case KeySource::Kind::coordinates: return "coordinates";
    }
    return "";
}

// The source's length comes first: `a|b` with `c` and `a` with `b|c` must be two keys, whatever
// joins them.
std::string cloudevents_key(std::string_view source, std::string_view id) {
    std::string key = std::to_string(source.size());
    key.append(":").append(source).append(" ").append(id);
    return key;
}

std::string coordinates_key(std::string_view log, Partition partition, Offset offset) {
    std::string key(log);
    key.append("-").append(std::to_string(partition.raw()));
    key.append("-").append(std::to_string(offset.raw()));
    return key;
}

}  // namespace onceward
