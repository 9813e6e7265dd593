#include "cli/proposal/payload_shape.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "consumer/decode/decoder.h"

namespace onceward {
namespace {

using Json = nlohmann::ordered_json;

std::string share_text(std::size_t part, std::size_t whole) {
    return std::to_string(part) + " of " + std::to_string(whole);
}

// The payloads, taken out of their frames.
struct SampledPayloads {
    std::vector<std::string_view> bodies;
    std::map<SchemaId, std::size_t> schemas;  // and how many payloads name it
    std::size_t framed = 0;
    std::size_t all = 0;
};

SampledPayloads payloads_of(std::span<const Record> records) {
    SampledPayloads found;
    for (const Record& record : records) {
        if (!record.payload) continue;
        ++found.all;
        const bool by_header = last_header(record, "__value_schema_id").has_value();
        const bool by_byte = record.payload->size() >= 5 && record.payload->front() == '\0';
        if (by_header || by_byte) {
            const ConfluentFrame frame = read_confluent_frame(record, MessageIndex::none);
            if (frame.fault == nullptr) {
                ++found.framed;
                ++found.schemas[schema_id(frame)];
                found.bodies.push_back(frame.payload);
                continue;
            }
        }
        found.bodies.push_back(*record.payload);
    }
    return found;
}

const Json* member(const Json& of, const char* name) {
    const auto found = of.is_object() ? of.find(name) : of.end();
    return of.is_object() && found != of.end() ? &*found : nullptr;
}

bool is_change_event(const Json& event) {
    const Json* const operation = member(event, "op");
    return operation != nullptr && operation->is_string() && event.contains("before") &&
           event.contains("after");
}

bool is_connect_record(const Json& document) {
    const Json* const schema = member(document, "schema");
    return document.size() == 2 && schema != nullptr && document.contains("payload") &&
           (schema->is_object() || schema->is_null());
}

const Json& without_connect(const Json& document) {
    return is_connect_record(document) ? document["payload"] : document;
}

// What JSON payloads have in common.
struct JsonSample {
    std::size_t documents = 0;  // that are JSON
    std::size_t objects = 0;
    std::size_t connect = 0;
    std::size_t events = 0;
    std::vector<Json> all;
};

JsonSample json_of(const std::vector<std::string_view>& bodies) {
    JsonSample sample;
    for (const std::string_view body : bodies) {
        // What nests deeper is left out here; the decoder refuses such a document.
        const auto deep = [](int depth, Json::parse_event_t, Json&) { return depth <= 500; };
        Json document = Json::parse(body, deep, false);
        if (document.is_discarded()) continue;
        ++sample.documents;
        if (document.is_object()) ++sample.objects;
        if (is_connect_record(document)) ++sample.connect;
        if (is_change_event(without_connect(document))) ++sample.events;
        sample.all.push_back(std::move(document));
    }
    return sample;
}

void add_names(const Json* row, PayloadShape& shape, std::set<std::string>& known) {
    if (row == nullptr || !row->is_object()) return;
    for (const auto& [name, value] : row->items()) {
        if (known.insert(name).second) shape.names.push_back(name);
    }
}

void read_rows(const JsonSample& sample, PayloadShape& shape) {
    const Envelope envelope = shape.options.envelope;
    std::set<std::string> known;
    std::vector<DeclaredRow> declared;
    std::set<std::string> schemas;
    for (const Json& document : sample.all) {
        const Json* const schema = member(document, "schema");
        if (envelope != Envelope::none && schema != nullptr && schema->is_object() &&
            schemas.insert(schema->dump()).second) {
            declared.push_back(connect_row(*schema));
        }
        const Json& payload = envelope == Envelope::none ? document : without_connect(document);
        add_names(envelope == Envelope::debezium ? member(payload, "after") : &payload, shape,
                  known);
    }
    shape.declared = common_row(declared);
}

void read_json(const JsonSample& sample, const SampledPayloads& payloads, PayloadShape& shape) {
    shape.options.format = Format::json;
    shape.members = sample.objects == sample.documents;
    // A topic of change events may hold a few truncates and messages, which have no row.
    const auto nearly_all = [&](std::size_t part) {
        return part > 0 && 10 * part >= 9 * sample.documents;
    };
    if (nearly_all(sample.events)) {
        shape.options.envelope = Envelope::debezium;
    } else if (nearly_all(sample.connect)) {
        shape.options.envelope = Envelope::connect;
    }
    const std::size_t enveloped = std::max(sample.events, sample.connect);
    if (enveloped > 0 && enveloped < sample.documents) {
        shape.notes.push_back("only " + share_text(enveloped, payloads.all) +
                              " payloads are in an envelope of Connect or Debezium");
    }
    read_rows(sample, shape);
    shape.members = shape.members && !shape.names.empty();
    shape.evidence = share_text(sample.documents, payloads.all) + " payloads are JSON";
    if (shape.options.envelope == Envelope::debezium) {
        shape.evidence += ", in Debezium's envelope";
    } else if (shape.options.envelope == Envelope::connect) {
        shape.evidence += ", in Connect's envelope";
    }
    if (!shape.members) {
        shape.notes.push_back("not each document is an object with members (" +
                              share_text(sample.objects, sample.documents) +
                              "), so the payload as a whole became a column");
    }
    if (sample.documents < payloads.all) {
        shape.notes.push_back(share_text(payloads.all - sample.documents, payloads.all) +
                              " payloads are not JSON: such messages go to the dead letters");
    }
}

void read_raw(std::string why, PayloadShape& shape) {
    shape.options = {};
    shape.options.format = Format::raw;
    shape.registry = false;
    shape.members = false;
    shape.evidence = std::move(why);
}

// The schemas that the sample names, or the topic's latest one.
std::vector<WrittenSchema> schemas_of(const SampledPayloads& payloads, SchemaSource& registry,
                                      const WrittenSchema* latest, PayloadShape& shape) {
    std::vector<WrittenSchema> schemas;
    for (const auto& [id, count] : payloads.schemas) {
        const SchemaAnswer answer = registry.find(id);
        if (answer.state == SchemaAnswer::State::known) {
            schemas.push_back(*answer.schema);
            continue;
        }
        shape.notes.push_back("schema " + id_text(id) + ", of " +
                              share_text(count, payloads.all) +
                              " payloads, cannot be had: " + answer.reason);
    }
    if (schemas.empty() && latest != nullptr) schemas.push_back(*latest);
    return schemas;
}

// Whether the registry's schemas define how the payloads are read.
bool read_by_registry(const SampledPayloads& payloads, SchemaSource& registry,
                      const WrittenSchema* latest, PayloadShape& shape) {
    const std::vector<WrittenSchema> schemas = schemas_of(payloads, registry, latest, shape);
    if (schemas.empty()) return false;
    const auto same = [&](SchemaLanguage language) {
        return std::ranges::all_of(
            schemas, [&](const WrittenSchema& each) { return each.language == language; });
    };
    const std::string by = payloads.framed == 0
                               ? "the registry has a schema for the topic"
                               : share_text(payloads.framed, payloads.all) +
                                     " payloads name a schema of the registry (" +
                                     std::to_string(payloads.schemas.size()) + " different)";
    shape.options.framing = Framing::confluent;
    shape.registry = true;
    if (same(SchemaLanguage::avro)) {
        shape.options.format = Format::avro;
        std::vector<DeclaredRow> rows;
        for (const WrittenSchema& schema : schemas) rows.push_back(avro_row(schema));
        shape.declared = common_row(rows);
        shape.members = !shape.declared.fields.empty();
        if (shape.declared.change_event) shape.options.envelope = Envelope::debezium;
        for (const DeclaredField& field : shape.declared.fields) shape.names.push_back(field.name);
        shape.evidence = by + ", which is Avro";
        return true;
    }
    if (same(SchemaLanguage::json)) {
        read_json(json_of(payloads.bodies), payloads, shape);
        shape.evidence = by + ", which is a JSON Schema";
        return true;
    }
    read_raw(by, shape);
    shape.notes.push_back(
        same(SchemaLanguage::protobuf)
            ? "the schemas are Protobuf, whose fields are not proposed: write `format: protobuf`, "
              "`registry: main` and a dotted path for each column"
            : "the schemas are of different languages, so the payload is not read");
    return true;
}

}  // namespace

PayloadShape shape_of(std::span<const Record> records, SchemaSource* registry,
                      const WrittenSchema* latest) {
    PayloadShape shape;
    const SampledPayloads payloads = payloads_of(records);
    const bool framed = payloads.framed > 0 && payloads.framed == payloads.all;
    if (registry != nullptr && (framed || payloads.all == 0) &&
        read_by_registry(payloads, *registry, latest, shape)) {
        return shape;
    }
    if (payloads.all == 0) {
        read_raw("the sample has no payload", shape);
        return shape;
    }
    const JsonSample sample = json_of(payloads.bodies);
    if (2 * sample.documents <= payloads.all) {
        read_raw(framed ? "each payload is framed for a schema registry"
                        : share_text(sample.documents, payloads.all) + " payloads are JSON",
                 shape);
        if (framed && registry == nullptr) {
            shape.notes.push_back(
                "the payloads begin as those do that name a schema of a registry: name it with "
                "--registry, and its columns can be proposed");
        }
        return shape;
    }
    if (framed) shape.options.framing = Framing::confluent;
    read_json(sample, payloads, shape);
    return shape;
}

}  // namespace onceward
