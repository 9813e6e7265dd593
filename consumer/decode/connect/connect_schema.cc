#include "consumer/decode/connect/connect_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "consumer/decode/json/json_pointer.h"

namespace onceward {
namespace {

using ConnectJson = nlohmann::json;
using Shape = ConnectSchema::Shape;

std::string_view schema_text(const ConnectJson& schema, const char* name) {
    const auto found = schema.find(name);
    if (found == schema.end() || !found->is_string()) return {};
    return found->get_ref<const std::string&>();
}

// Parameters of a type are texts.
std::optional<std::int32_t> schema_scale(const ConnectJson& schema) {
    const auto parameters = schema.find("parameters");
    if (parameters == schema.end() || !parameters->is_object()) return std::nullopt;
    return number_of<std::int32_t>(schema_text(*parameters, "scale"));
}

class ConnectSchemaParser {
  public:
    explicit ConnectSchemaParser(std::vector<ConnectSchema::Node>& nodes) : nodes_(nodes) {}

    ConnectSchema::NodeId read(const ConnectJson& schema) {
        const auto id = static_cast<ConnectSchema::NodeId>(nodes_.size());
        if (nodes_.size() >= ConnectSchema::most_nodes) {
            fault = "it has too many types";
            return 0;
        }
        ConnectSchema::Node node;
        nodes_.emplace_back();
        if (schema.is_object()) fill(schema, node);
        node.changes = node.type != ConnectType::plain ||
                       std::ranges::any_of(node.children, [this](ConnectSchema::NodeId child) {
                           return nodes_[child].changes;
                       });
        nodes_[id] = std::move(node);
        return id;
    }

    const char* fault = nullptr;

  private:
    void fill(const ConnectJson& schema, ConnectSchema::Node& node) {
        node.type = connect_type(schema_text(schema, "name"));
        if (node.type == ConnectType::decimal) {
            const std::optional<std::int32_t> scale = schema_scale(schema);
            if (!scale) fault = "a decimal in it has no `scale`";
            node.scale = scale.value_or(0);
        }
        const std::string_view type = schema_text(schema, "type");
        if (type == "struct") {
            fields(schema, node);
        } else if (type == "array") {
            content(schema, "items", Shape::array, node);
        } else if (type == "map") {
            content(schema, "values", Shape::map, node);
        }
    }

    void fields(const ConnectJson& schema, ConnectSchema::Node& node) {
        node.shape = Shape::record;
        const auto list = schema.find("fields");
        if (list == schema.end() || !list->is_array()) return;
        for (const ConnectJson& field : *list) {
            if (!field.is_object()) continue;
            node.names.emplace_back(schema_text(field, "field"));
            node.children.push_back(read(field));
        }
    }

    void content(const ConnectJson& schema, const char* name, Shape shape,
                 ConnectSchema::Node& node) {
        node.shape = shape;
        static const ConnectJson none;
        const auto found = schema.find(name);
        node.children.push_back(read(found == schema.end() ? none : *found));
    }

    std::vector<ConnectSchema::Node>& nodes_;
};

}  // namespace

ConnectSchema::ConnectSchema(std::string_view text) {
    const ConnectJson json = ConnectJson::parse(text, nullptr, false);
    ConnectSchemaParser parser(nodes_);
    parser.read(json);
    fault_ = parser.fault;
}

const ConnectSchema::Node* ConnectSchema::member(const Node& of, std::string_view name) const {
    if (of.shape == Shape::map) return &nodes_[of.children[0]];
    if (of.shape != Shape::record) return nullptr;
    const auto found = std::ranges::find(of.names, name);
    if (found == of.names.end()) return nullptr;
    return &nodes_[of.children[static_cast<std::size_t>(found - of.names.begin())]];
}

const ConnectSchema::Node* ConnectSchema::find(std::string_view pointer) const {
    const Node* current = &nodes_[0];
    std::string name;
    while (current != nullptr && !pointer.empty()) {
        if (!unescape_pointer_step(take_pointer_step(pointer), name)) return nullptr;
        const bool element = current->shape == Shape::array && element_position(name);
        current = element ? &nodes_[current->children[0]] : member(*current, name);
    }
    return current;
}

}  // namespace onceward
