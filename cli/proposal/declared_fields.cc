#include "cli/proposal/declared_fields.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/proposal/connect_types.h"
#include "consumer/decode/avro_schema.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Json = nlohmann::ordered_json;
using AvroType = AvroSchema::Type;
using AvroLogical = AvroSchema::Logical;

std::string schema_text(const Json& of, const char* member) {
    const auto found = of.is_object() ? of.find(member) : of.end();
    return of.is_object() && found != of.end() && found->is_string() ? found->get<std::string>()
                                                                     : std::string();
}

// ---- Connect ------------------------------------------------------------------------------------

std::optional<TypeChoice> connect_choice(const Json& schema) {
    auto named = named_connect_type(schema_text(schema, "name"));
    return named ? named : plain_connect_type(schema_text(schema, "type"));
}

const Json* connect_field(const Json& schema, const std::string& name) {
    const auto fields = schema.is_object() ? schema.find("fields") : schema.end();
    if (!schema.is_object() || fields == schema.end() || !fields->is_array()) return nullptr;
    for (const Json& field : *fields) {
        if (schema_text(field, "field") == name) return &field;
    }
    return nullptr;
}

// ---- Avro ---------------------------------------------------------------------------------------

// The name that Connect's converter notes for a field: `connect.name` in its type, or in a branch
// of it.
std::string connect_name(const Json& type) {
    if (type.is_array()) {
        for (const Json& branch : type) {
            if (std::string name = connect_name(branch); !name.empty()) return name;
        }
    }
    return schema_text(type, "connect.name");
}

// Avro's own logical types are read as such. Only values that it has no type for need a conversion.
TypeChoice avro_choice(const AvroSchema::Node& node, const std::string& noted) {
    const bool number = node.type == AvroType::int32 || node.type == AvroType::int64;
    switch (node.logical) {
        case AvroLogical::decimal: return {"numeric"};
        case AvroLogical::uuid: return {"uuid"};
        case AvroLogical::date: return {"date"};
        case AvroLogical::time_millis:
        case AvroLogical::time_micros: return {"time"};
        case AvroLogical::timestamp_millis:
        case AvroLogical::timestamp_micros:
        case AvroLogical::timestamp_nanos: return {"timestamptz"};
        case AvroLogical::local_timestamp_millis:
        case AvroLogical::local_timestamp_micros:
        case AvroLogical::local_timestamp_nanos: return {"timestamp"};
        case AvroLogical::duration: return {"text"};
        case AvroLogical::none: break;
    }
    if (number || node.type == AvroType::string) {
        if (auto named = named_connect_type(noted)) return *named;
    }
    switch (node.type) {
        case AvroType::boolean: return {"boolean"};
        case AvroType::int32:
        case AvroType::int64: return {"bigint"};
        case AvroType::float32:
        case AvroType::float64: return {"double precision"};
        case AvroType::bytes:
        case AvroType::fixed: return {"bytea"};
        case AvroType::record:
        case AvroType::array:
        case AvroType::map: return {"jsonb"};
        default: return {"text"};
    }
}

bool is_uuid_text(const Json& type) {
    if (type.is_array()) return std::ranges::any_of(type, is_uuid_text);
    return schema_text(type, "logicalType") == "uuid";
}

// The record that a type is, also if it is the branch of a union; nullptr if it is none.
const AvroSchema::Node* record_in(const AvroSchema& schema, AvroSchema::NodeId id) {
    const AvroSchema::Node& node = schema.node(id);
    if (node.type == AvroType::record) return &node;
    if (node.type != AvroType::choice) return nullptr;
    for (const AvroSchema::NodeId branch : node.children) {
        if (schema.node(branch).type == AvroType::record) return &schema.node(branch);
    }
    return nullptr;
}

// The types of a record's fields as they are written. Empty if the record is defined elsewhere.
std::map<std::string, Json> written_types(const Json& type) {
    std::map<std::string, Json> types;
    if (type.is_array()) {
        for (const Json& branch : type) {
            types = written_types(branch);
            if (!types.empty()) return types;
        }
        return types;
    }
    if (!type.is_object()) return types;
    if (type.contains("fields") && type["fields"].is_array()) {
        for (const Json& field : type["fields"]) {
            if (field.is_object() && field.contains("type")) {
                types[schema_text(field, "name")] = field["type"];
            }
        }
    } else if (type.contains("type")) {
        return written_types(type["type"]);
    }
    return types;
}

DeclaredField avro_field(const AvroSchema& schema, const std::string& name,
                         AvroSchema::NodeId type, const Json& written) {
    DeclaredField field{.name = name, .choice = {"text"}, .required = true};
    std::vector<AvroSchema::NodeId> branches = {type};
    if (schema.node(type).type == AvroType::choice) branches = schema.node(type).children;
    std::erase_if(branches, [&](AvroSchema::NodeId branch) {
        const bool null = schema.node(branch).type == AvroType::null;
        if (null) field.required = false;
        return null;
    });
    if (branches.empty()) {
        field.note = "is always null in the schema";
    } else if (branches.size() > 1) {
        field.choice = {"jsonb"};
        field.note = "is a union of " + std::to_string(branches.size()) +
                     " types in the schema, which `jsonb` takes all but bytes of";
    } else {
        field.choice = avro_choice(schema.node(branches[0]), connect_name(written));
        if (field.choice.type == "text" && is_uuid_text(written)) field.choice = {"uuid"};
    }
    return field;
}

}  // namespace

DeclaredRow connect_row(const Json& schema) {
    DeclaredRow row;
    const Json* from = &schema;
    const Json* const after = connect_field(schema, "after");
    if (after != nullptr && connect_field(schema, "op") != nullptr) {
        row.change_event = true;
        from = after;
    }
    if (!from->is_object() || !from->contains("fields") || !(*from)["fields"].is_array()) {
        return row;
    }
    for (const Json& field : (*from)["fields"]) {
        const std::string name = schema_text(field, "field");
        const auto choice = field.is_object() ? connect_choice(field) : std::nullopt;
        if (name.empty() || !choice) continue;
        const auto optional = field.find("optional");
        const bool required = optional != field.end() && *optional == false;
        row.fields.push_back({name, *choice, required});
    }
    return row;
}

DeclaredRow avro_row(const WrittenSchema& written) {
    const AvroSchema schema(written);
    DeclaredRow row;
    const AvroSchema::Node* record = record_in(schema, schema.root());
    if (record == nullptr) return row;
    Json types = Json::parse(written.text, nullptr, false);
    const auto place = [&](const std::string& name) {
        return std::ranges::find(record->names, name) - record->names.begin();
    };
    const auto fields = static_cast<std::ptrdiff_t>(record->names.size());
    if (const auto after = place("after"); after < fields && place("op") < fields) {
        const AvroSchema::Node* const inner = record_in(schema, record->children[after]);
        if (inner != nullptr) {
            row.change_event = true;
            // The row's type is defined where it comes first, which is `before`.
            const auto outer = written_types(types);
            const auto before = outer.find("before");
            types = before != outer.end() && !written_types(before->second).empty()
                        ? before->second
                    : outer.contains("after") ? outer.at("after")
                                              : Json();
            record = inner;
        }
    }
    const std::map<std::string, Json> of_fields = written_types(types);
    for (std::size_t i = 0; i < record->names.size(); ++i) {
        const auto type = of_fields.find(record->names[i]);
        row.fields.push_back(avro_field(schema, record->names[i], record->children[i],
                                        type == of_fields.end() ? Json() : type->second));
    }
    return row;
}

DeclaredRow common_row(const std::vector<DeclaredRow>& rows) {
    DeclaredRow all;
    for (const DeclaredRow& row : rows) {
        all.change_event = all.change_event || row.change_event;
        for (const DeclaredField& field : row.fields) {
            const auto known = std::ranges::find(all.fields, field.name, &DeclaredField::name);
            if (known == all.fields.end()) {
                all.fields.push_back(field);
            } else if (known->choice != field.choice) {
                known->choice = {};
                known->note = "is declared in different ways by the schemas of the sample";
            }
        }
    }
    for (DeclaredField& field : all.fields) {
        field.required = std::ranges::all_of(rows, [&](const DeclaredRow& row) {
            const auto there = std::ranges::find(row.fields, field.name, &DeclaredField::name);
            return there != row.fields.end() && there->required;
        });
    }
    return all;
}

}  // namespace onceward
