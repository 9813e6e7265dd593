#include <nlohmann/json.hpp>

#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

using Json = nlohmann::ordered_json;

// A value that is made of a variable is a text whatever its type; what it holds is checked when the
// file is read.
constexpr const char* variable_pattern = "\\$\\{.+\\}";

// What several options share is written once. In this draft nothing counts next to a `$ref`.
Json shared(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }
Json described(const std::string& name) { return {{"allOf", Json::array({shared(name)})}}; }

Json or_variable(Json schema) {
    return {{"anyOf", Json::array({std::move(schema), shared("variable")})}};
}

Json any_text() { return {{"type", {"string", "number", "boolean"}}}; }

// The steps of `convert`, from the table that the loader reads.
Json conversion_step() {
    Json plain = Json::array();
    const Json constant = {{"type", {"string", "number", "boolean", "null"}}};
    Json with_argument = Json::object();
    for (const std::string_view name : conversion_names) {
        if (name == "map") {
            with_argument[name] = {{"type", "object"},
                                   {"additionalProperties", constant},
                                   {"minProperties", 1}};
        } else if (name == "cast") {
            with_argument[name] = {{"enum", cast_names}};
        } else if (name == "base64_decimal") {
            const Json scale = {{"type", "integer"}, {"minimum", -1000}, {"maximum", 1000}};
            with_argument[name] = {{"type", "object"},
                                   {"properties", {{"scale", scale}}},
                                   {"required", Json::array({"scale"})},
                                   {"additionalProperties", false}};
        } else {
            plain.push_back(name);
        }
    }
    with_argument["otherwise"] = constant;
    const Json named = {{"type", "object"},
                        {"properties", with_argument},
                        {"additionalProperties", false},
                        {"minProperties", 1},
                        {"maxProperties", 2}};
    return {{"anyOf", {{{"enum", plain}}, named}}};
}

Json conversions() {
    const Json list = {{"type", "array"}, {"items", shared("conversion")}, {"minItems", 1}};
    return {{"anyOf", Json::array({shared("conversion"), list})}};
}

Json source(bool of_column) {
    Json properties = {
        {"field", {{"type", "string"}}},
        {"header", {{"type", "string"}, {"minLength", 1}}},
        {"metadata",
         {{"enum", {"topic", "partition", "offset", "timestamp", "record_key", "payload"}}}},
        {"key", {{"enum", {"text", "digest", "downstream"}}}},
        {"constant", any_text()},
    };
    if (of_column) {
        properties["required"] = {{"type", "boolean"}};
        properties["convert"] = conversions();
        properties["default"] = any_text();
        properties["lossy"] = {{"enum", lossy_names}};
    }
    Json one_of = Json::array();
    for (const char* kind : {"field", "header", "metadata", "key", "constant"}) {
        one_of.push_back({{"required", Json::array({kind})}});
    }
    const Json object = {{"type", "object"},
                         {"properties", properties},
                         {"additionalProperties", false},
                         {"oneOf", one_of}};
    return {{"anyOf", {{{"type", "string"}}, object}}};
}

Json key_source() {
    Json named = {{"type", "object"},
                  {"properties",
                   {{"header", {{"type", "string"}, {"minLength", 1}}},
                    {"field", {{"type", "string"}}},
                    {"fields", {{"type", "array"}, {"items", any_text()}, {"minItems", 2}}},
                    {"record_key", {{"type", {"boolean", "string"}}}},
                    {"strip_quotes", {{"type", "boolean"}}},
                    {"kind", {{"type", "string"}, {"minLength", 1}}}}},
                  {"additionalProperties", false}};
    return {{"anyOf",
             {{{"enum", {"record_key", "cloudevents", "payload_sha256", "coordinates"}}}, named}}};
}

Json fingerprint(const std::string& whole) {
    const Json fields = {{"type", "array"}, {"items", any_text()}, {"minItems", 1}};
    const Json object = {{"type", "object"},
                         {"properties", {{"fields", fields}}},
                         {"required", Json::array({"fields"})},
                         {"additionalProperties", false}};
    return {{"anyOf", Json::array({{{"enum", {"none", whole}}}, shared("variable"), object})}};
}

Json minted() {
    Json named = {{"type", "object"},
                  {"minProperties", 1},
                  {"maxProperties", 1},
                  {"properties", {{"header", any_text()}, {"field", any_text()}}},
                  {"additionalProperties", false}};
    return {{"anyOf",
             Json::array({{{"enum", {"none", "uuid7", "ce_time"}}}, shared("variable"), named})}};
}

Json limited(const OptionSpec& spec, const char* type) {
    Json schema = {{"type", type}, {"minimum", spec.bind.limits.minimum}};
    if (spec.bind.limits.maximum != INT64_MAX) schema["maximum"] = spec.bind.limits.maximum;
    return or_variable(schema);
}

Json text_with_pattern(const char* pattern) {
    return or_variable({{"type", "string"}, {"pattern", pattern}});
}

Json value_schema(const OptionSpec& spec) {
    switch (spec.bind.type) {
        case OptionType::text:
        case OptionType::secret: return any_text();
        case OptionType::integer: return limited(spec, "integer");
        case OptionType::number: return limited(spec, "number");
        case OptionType::duration: return described("duration");
        case OptionType::size: return described("size");
        case OptionType::hours:
            return text_with_pattern("^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$");
        case OptionType::choice:
            if (spec.bind.choices.front() == "false") return or_variable({{"type", "boolean"}});
            return or_variable({{"enum", spec.bind.choices}});
        case OptionType::texts: return {{"type", "array"}, {"items", any_text()}, {"minItems", 1}};
        case OptionType::properties:
        case OptionType::attributes:
        case OptionType::headers: return {{"type", "object"}, {"additionalProperties", any_text()}};
        case OptionType::start:
            return {{"anyOf",
                     Json::array({{{"enum", {"committed", "earliest", "latest"}}},
                                  {{"type", "string"},
                                   {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]"}},
                                  shared("variable")})}};
        case OptionType::key_sources:
            return {{"type", "array"}, {"items", shared("key_source")}, {"minItems", 1}};
        case OptionType::source: return described("source");
        case OptionType::fingerprint: return fingerprint(whole_of(spec));
        case OptionType::minted: return minted();
        case OptionType::columns:
            return {{"type", "object"},
                    {"additionalProperties", shared("column")},
                    {"minProperties", 1}};
    }
    return {};
}

Json default_of(const OptionSpec& spec) {
    const bool number =
        spec.bind.type == OptionType::integer || spec.bind.type == OptionType::number;
    const bool truth = spec.bind.type == OptionType::choice && spec.bind.choices.front() == "false";
    return number || truth ? Json::parse(spec.default_text) : Json(spec.default_text);
}

// A part that may be left out, even if options in it are required.
bool may_be_left_out(const OptionTree& tree) {
    return tree.name == "outbox" || tree.name == "also_publish" || tree.name == "reply" ||
           tree.name == "dead_letters";
}

Json tree_schema(const OptionTree& tree) {
    if (tree.spec != nullptr) {
        Json schema = {{"description", tree.spec->meaning}};
        if (tree.spec->has_default()) schema["default"] = default_of(*tree.spec);
        schema.update(value_schema(*tree.spec));
        return schema;
    }
    Json properties = Json::object();
    Json required = Json::array();
    for (const OptionTree& child : tree.children) {
        properties[child.name] = tree_schema(child);
        const bool needed = child.spec != nullptr && child.spec->required();
        // A route may lead to a topic instead.
        if (needed || (child.name == "sink" && tree.name == "topics") ||
            (!may_be_left_out(child) &&
             !tree_schema(child).value("required", Json::array()).empty())) {
            required.push_back(child.name);
        }
    }
    if (may_be_left_out(tree)) required.push_back("topic");
    Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    if (!required.empty()) schema["required"] = required;
    if (tree.name == "sink") {
        schema["anyOf"] = {{{"required", {"table", "columns"}}},
                           {{"required", {"function", "columns"}}},
                           {{"required", Json::array({"outbox"})}},
                           {{"required", Json::array({"webhook"})}}};
    }
    if (tree.list) return {{"type", "array"}, {"items", schema}, {"minItems", 1}};
    return schema;
}

}  // namespace

std::string configuration_schema() {
    const Json definitions = {
        {"variable", {{"type", "string"}, {"pattern", variable_pattern}}},
        {"duration", text_with_pattern("^[0-9]+(ms|s|m|h|d)$")},
        {"size", text_with_pattern("^[0-9]+(B|KB|MB|GB|KiB|MiB|GiB)$")},
        {"source", source(false)},
        {"column", source(true)},
        {"conversion", conversion_step()},
        {"key_source", key_source()},
    };
    Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                   {"title", "Onceward's configuration"}};
    schema.update(tree_schema(option_tree()));
    schema["anyOf"] = {{{"required", Json::array({"topics"})}},
                       {{"required", Json::array({"http"})}}};
    schema["definitions"] = definitions;
    return schema.dump(2) + "\n";
}

}  // namespace onceward
