#include "consumer/decode/avro_schema.h"

#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "consumer/decode/decoder.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Json = nlohmann::json;
using Type = AvroSchema::Type;
using Logical = AvroSchema::Logical;
using Node = AvroSchema::Node;
using NodeId = AvroSchema::NodeId;

// Names of primitive types, which no other type can have.
constexpr std::array<std::pair<std::string_view, Type>, 8> primitives{{{"null", Type::null},
                                                                       {"boolean", Type::boolean},
                                                                       {"int", Type::int32},
                                                                       {"long", Type::int64},
                                                                       {"float", Type::float32},
                                                                       {"double", Type::float64},
                                                                       {"bytes", Type::bytes},
                                                                       {"string", Type::string}}};

struct LogicalName {
    std::string_view name;
    Type type;
    Logical logical;
    std::size_t size = 0;  // of a fixed
};
constexpr std::array<LogicalName, 12> logical_names{{
    {"date", Type::int32, Logical::date},
    {"time-millis", Type::int32, Logical::time_millis},
    {"time-micros", Type::int64, Logical::time_micros},
    {"timestamp-millis", Type::int64, Logical::timestamp_millis},
    {"timestamp-micros", Type::int64, Logical::timestamp_micros},
    {"timestamp-nanos", Type::int64, Logical::timestamp_nanos},
    {"local-timestamp-millis", Type::int64, Logical::local_timestamp_millis},
    {"local-timestamp-micros", Type::int64, Logical::local_timestamp_micros},
    {"local-timestamp-nanos", Type::int64, Logical::local_timestamp_nanos},
    {"uuid", Type::fixed, Logical::uuid, 16},
    {"duration", Type::fixed, Logical::duration, 12},
    {"uuid", Type::string, Logical::none},
}};

// Whether a value of the Avro type can be one of Connect's. A decimal has a logical type, or this.
bool can_be(ConnectType connect, const Node& node) {
    switch (connect) {
        case ConnectType::plain: return false;
        case ConnectType::json: return node.type == Type::string;
        case ConnectType::decimal: return node.type == Type::bytes;
        case ConnectType::variable_decimal: return node.type == Type::record;
        default: return node.type == Type::int32 || node.type == Type::int64;
    }
}

// Far more types than people write, but few enough to keep.
constexpr std::size_t most_nodes = 100'000;

std::string text_member(const Json& of, const char* name) {
    const auto found = of.find(name);
    return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A number that is not negative; nullopt if there is none.
std::optional<std::size_t> size_member(const Json& of, const char* name) {
    const auto found = of.find(name);
    if (found == of.end() || !found->is_number_integer()) return std::nullopt;
    const auto size = found->get<std::int64_t>();
    if (size < 0 || size > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    return static_cast<std::size_t>(size);
}

const Json& list_member(const Json& of, const char* name, const std::string& owner) {
    const auto found = of.find(name);
    if (found == of.end() || !found->is_array()) {
        throw FormatError(owner + " has no list `" + name + "`");
    }
    return *found;
}

// A type's name with its namespace, which is also that of the names within it.
struct FullName {
    std::string space;
    std::string full;
};

FullName full_name(const Json& of, const std::string& outer) {
    const std::string name = text_member(of, "name");
    if (name.empty()) throw FormatError("a record, an enum or a fixed has no name");
    if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) {
        return {name.substr(0, dot), name};
    }
    const std::string space = of.contains("namespace") ? text_member(of, "namespace") : outer;
    return {space, space.empty() ? name : space + "." + name};
}

class Parser {
  public:
    explicit Parser(std::vector<Node>& nodes) : nodes_(nodes) {}

    NodeId document(const std::string& text) {
        const Json json = Json::parse(text, nullptr, false);
        if (json.is_discarded()) {
            // A registry stores `"string"` as it was sent; some send the bare word.
            if (const std::optional<NodeId> bare = primitive(text)) return *bare;
            throw FormatError("it is not JSON");
        }
        return read(json, "");
    }

  private:
    NodeId add(Node node) {
        if (nodes_.size() >= most_nodes) throw FormatError("it has too many types");
        nodes_.push_back(std::move(node));
        return static_cast<NodeId>(nodes_.size() - 1);
    }

    std::optional<NodeId> primitive(std::string_view name) {
        for (const auto& [known, type] : primitives) {
            if (known == name) return add({.type = type});
        }
        return std::nullopt;
    }

    NodeId read(const Json& json, const std::string& space) {
        if (++depth_ > AvroSchema::max_depth) throw FormatError("its types nest too deep");
        const NodeId id = json.is_string()   ? named(json.get<std::string>(), space)
                          : json.is_array()  ? choice(json, space)
                          : json.is_object() ? complex(json, space)
                                             : throw FormatError(
                                                   "a type is neither a name, an "
                                                   "object nor a list");
        --depth_;
        return id;
    }

    NodeId named(const std::string& name, const std::string& space) {
        if (const std::optional<NodeId> known = primitive(name)) return *known;
        if (name.find('.') == std::string::npos && !space.empty()) {
            if (const auto found = known_.find(space + "." + name); found != known_.end()) {
                return found->second;
            }
        }
        const auto found = known_.find(name);
        if (found == known_.end()) {
            throw FormatError("the type `" + name +
                              "` is not defined, neither in it before its use nor in its "
                              "references");
        }
        return found->second;
    }

    NodeId choice(const Json& json, const std::string& space) {
        Node node{.type = Type::choice};
        for (const Json& branch : json) {
            if (branch.is_array()) throw FormatError("a union has a union as a branch");
            const NodeId id = read(branch, space);
            if (nodes_[id].type == Type::choice) {
                throw FormatError("a union has a union as a branch");
            }
            node.children.push_back(id);
        }
        return add(std::move(node));
    }

    NodeId complex(const Json& json, const std::string& space) {
        const auto found = json.find("type");
        if (found == json.end()) throw FormatError("an object has no `type`");
        if (!found->is_string()) return read(*found, space);
        const std::string type = found->get<std::string>();
        if (type == "record" || type == "error") return record(json, space);
        if (type == "enum") return enumeration(json, space);
        if (type == "fixed") return fixed(json, space);
        if (type == "array") return container(Type::array, "items", json, space);
        if (type == "map") return container(Type::map, "values", json, space);
        const std::optional<NodeId> known = primitive(type);
        if (!known) return named(type, space);
        set_logical(*known, json);
        return *known;
    }

    // The name has to be known before the type's contents, which may refer to it.
    NodeId define(const FullName& name, Type type) {
        const NodeId id = add({.type = type});
        if (!known_.emplace(name.full, id).second) {
            throw FormatError("the type `" + name.full + "` is defined twice");
        }
        return id;
    }

    NodeId record(const Json& json, const std::string& outer) {
        const FullName name = full_name(json, outer);
        const NodeId id = define(name, Type::record);
        std::set<std::string> seen;
        for (const Json& field : list_member(json, "fields", "the record `" + name.full + "`")) {
            const std::string field_name = field.is_object() ? text_member(field, "name") : "";
            const bool has_type = field.is_object() && field.contains("type");
            if (field_name.empty() || !has_type) {
                throw FormatError("the record `" + name.full +
                                  "` has a field without a name or a type");
            }
            if (!seen.insert(field_name).second) {
                throw FormatError("the record `" + name.full + "` has two fields `" + field_name +
                                  "`");
            }
            const NodeId child = read(field["type"], name.space);
            nodes_[id].names.push_back(field_name);
            nodes_[id].children.push_back(child);
        }
        set_connect(id, json);
        return id;
    }

    NodeId enumeration(const Json& json, const std::string& outer) {
        const FullName name = full_name(json, outer);
        const NodeId id = define(name, Type::enumeration);
        for (const Json& symbol : list_member(json, "symbols", "the enum `" + name.full + "`")) {
            if (!symbol.is_string()) {
                throw FormatError("the enum `" + name.full + "` has a symbol that is not a text");
            }
            nodes_[id].names.push_back(symbol.get<std::string>());
        }
        return id;
    }

    NodeId fixed(const Json& json, const std::string& outer) {
        const FullName name = full_name(json, outer);
        const std::optional<std::size_t> size = size_member(json, "size");
        if (!size) throw FormatError("the fixed `" + name.full + "` has no size");
        const NodeId id = define(name, Type::fixed);
        nodes_[id].size = *size;
        set_logical(id, json);
        return id;
    }

    NodeId container(Type type, const char* member, const Json& json, const std::string& space) {
        const auto found = json.find(member);
        if (found == json.end()) {
            throw FormatError("an array or a map has no `" + std::string(member) + "`");
        }
        const NodeId child = read(*found, space);
        return add({.type = type, .children = {child}});
    }

    // What Connect's converters write next to the type, or in its place.
    void set_connect(NodeId id, const Json& json) {
        Node& node = nodes_[id];
        const ConnectType connect = connect_type(text_member(json, "connect.name"));
        if (!can_be(connect, node)) return;
        if (connect == ConnectType::decimal) {
            const auto parameters = json.find("connect.parameters");
            if (parameters == json.end() || !parameters->is_object()) return;
            const auto scale = number_of<std::uint16_t>(text_member(*parameters, "scale"));
            if (!scale) return;
            node.logical = Logical::decimal;
            node.scale = *scale;
            return;
        }
        node.connect = connect;
    }

    void set_logical(NodeId id, const Json& json) {
        set_named_logical(id, json);
        if (nodes_[id].logical == Logical::none) set_connect(id, json);
    }

    void set_named_logical(NodeId id, const Json& json) {
        Node& node = nodes_[id];
        const std::string name = text_member(json, "logicalType");
        if (name == "decimal" && (node.type == Type::bytes || node.type == Type::fixed)) {
            const std::optional<std::size_t> precision = size_member(json, "precision");
            const std::optional<std::size_t> scale =
                json.contains("scale") ? size_member(json, "scale") : 0;
            if (!precision || *precision == 0 || !scale || *scale > *precision) return;
            node.logical = Logical::decimal;
            node.scale = *scale;
            return;
        }
        for (const LogicalName& known : logical_names) {
            if (known.name == name && known.type == node.type && known.size == node.size) {
                node.logical = known.logical;
            }
        }
    }

    std::vector<Node>& nodes_;
    std::map<std::string, NodeId> known_;  // by full name
    int depth_ = 0;
};

}  // namespace

AvroSchema::AvroSchema(const WrittenSchema& written) {
    Parser parser(nodes_);
    for (const WrittenSchema::Reference& reference : written.references) {
        try {
            parser.document(reference.text);
        } catch (const FormatError& error) {
            throw FormatError("in its reference `" + reference.name + "`: " + error.what());
        }
    }
    root_ = parser.document(written.text);
}

}  // namespace onceward
