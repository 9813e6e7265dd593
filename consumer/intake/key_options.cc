#include "consumer/intake/key_options.h"

namespace onceward {
namespace {

KeySource source(KeySource::Kind kind, std::string name = "") {
    KeySource made;
    made.kind = kind;
    made.name = std::move(name);
    return made;
}

// The name has spellings in use, and Kafka's header names are case-sensitive; they are one kind of
// key.
std::vector<KeySource> idempotency_key() {
    KeySource standard = source(KeySource::Kind::header, "Idempotency-Key");
    standard.strip_quotes = true;
    standard.kind_name = kind_of(standard);
    KeySource lower = standard;
    lower.name = "idempotency-key";
    return {standard, lower};
}

// MassTransit writes the id into the envelope always, into a header where the transport has
// headers.
std::vector<KeySource> masstransit() {
    KeySource header = source(KeySource::Kind::header, "MessageId");
    header.kind_name = "masstransit";
    KeySource field = source(KeySource::Kind::field, "/messageId");
    field.kind_name = header.kind_name;
    field.only_json = true;
    return {header, field};
}

}  // namespace

std::optional<std::vector<KeySource>> key_preset(const std::string& name) {
    if (name == "idempotency-key") return idempotency_key();
    if (name == "cloudevents") return {{source(KeySource::Kind::cloudevents)}};
    if (name == "debezium-outbox") return {{source(KeySource::Kind::header, "id")}};
    if (name == "masstransit") return masstransit();
    if (name == "nservicebus") return {{source(KeySource::Kind::header, "NServiceBus.MessageId")}};
    if (name == "kafka-coordinates") return {{source(KeySource::Kind::coordinates)}};
    if (name == "body-sha256") return {{source(KeySource::Kind::payload_sha256)}};
    return std::nullopt;
}

std::vector<std::string> key_preset_names() {
    return {"idempotency-key", "cloudevents",       "debezium-outbox", "masstransit",
            "nservicebus",     "kafka-coordinates", "body-sha256"};
}

std::string kind_of(const KeySource& source) {
    if (!source.kind_name.empty()) {
        return source.kind_name;
    }
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
