#include "consumer/decode/connect/connect_reader.h"

#include "consumer/decode/avro/logical_types.h"
#include "consumer/decode/connect/connect_value.h"
#include "dedup/base/json_reader.h"
#include "dedup/base/text.h"
#include "dedup/message/message.h"

namespace onceward {
namespace {

using ConnectNode = ConnectSchema::Node;

constexpr ConnectFault not_decimal = "is not a decimal in base64";
constexpr ConnectFault not_whole = "is not a whole number";
constexpr ConnectFault not_in_years = "is a date or time outside the years 1 to 9999";
constexpr ConnectFault not_json = "is not a text that holds JSON";

// Appends a scalar as JSON writes it; `text` is a number's token or a string. Nothing is appended
// for `plain`.
ConnectFault append_typed(const ConnectNode& node, bool is_text, std::string_view text,
                          std::string& out) {
    switch (node.type) {
        case ConnectType::plain:
        case ConnectType::json:
        case ConnectType::variable_decimal: return not_json;
        case ConnectType::decimal:
            if (!is_text) {  // the converter's `decimal.format` is `numeric`
                out += text;
                return is_json_number(text) ? nullptr : not_decimal;
            }
            return append_connect_decimal(text, node.scale, out);
        default: break;
    }
    const std::optional<std::int64_t> count =
        is_text ? std::nullopt : number_of<std::int64_t>(text);
    return count ? append_connect_time(node.type, *count, out) : not_whole;
}

// Rewrites a document, with each value in the form of its type.
struct ConnectRewriter {
    using Place = const ConnectNode*;  // null if nothing changes

    const ConnectSchema& schema;
    std::string& out;
    ConnectFault misfit = nullptr;
    std::string fault{};
    // Where the open objects and arrays begin in `out`.
    std::vector<std::size_t> begins{};

    bool good(ConnectFault wrong) {
        if (wrong != nullptr) fault = misfit = wrong;
        return wrong == nullptr;
    }

    bool literal(Place node, std::string_view token) {
        separate();
        const bool typed = node != nullptr && node->type != ConnectType::plain && token != "null";
        if (!typed) {
            out += token;
            return true;
        }
        return scalar(*node, false, token);
    }

    void text(Place node, std::string_view text, bool) {
        separate();
        if (node == nullptr || node->type == ConnectType::plain) {
            append_json_string(text, out);
            return;
        }
        if (node->type != ConnectType::json) {
            scalar(*node, true, text);
            return;
        }
        if (good(is_json_text(text) ? nullptr : not_json)) out += trim_json_space(text);
    }

    bool scalar(const ConnectNode& node, bool is_text, std::string_view text) {
        const bool quoted = node.type != ConnectType::decimal;
        if (quoted) out += '"';
        if (!good(append_typed(node, is_text, text, out))) return false;
        if (quoted) out += '"';
        return true;
    }

    void open(Place, char bracket) {
        separate();
        begins.push_back(out.size());
        out += bracket;
    }

    bool member(Place object, std::string_view name, Place& value) {
        if (misfit != nullptr) return false;
        value = object == nullptr || object->type != ConnectType::plain
                    ? nullptr
                    : schema.member(*object, name);
        separate();
        append_json_string(name, out);
        out += ':';
        return true;
    }

    Place element(Place array, std::uint64_t) {
        if (array == nullptr) return nullptr;
        if (array->shape == ConnectSchema::Shape::map && array->changes) {
            good("is a map whose keys are not texts");
            return nullptr;
        }
        return array->shape == ConnectSchema::Shape::array ? &schema.node(array->children[0])
                                                           : nullptr;
    }

    template <class Raw>
    bool close(Place node, char bracket, const Raw& raw) {
        if (misfit != nullptr) return good(misfit);
        const std::size_t begin = begins.back();
        begins.pop_back();
        if (node == nullptr || node->type == ConnectType::plain) {
            out += bracket == '{' ? '}' : ']';
            return true;
        }
        out.resize(begin);
        return good(node->type == ConnectType::variable_decimal
                        ? append_variable_decimal(raw(), out)
                        : not_whole);
    }

  private:
    // Appends a comma, unless the next value is the first of its container or follows a name.
    void separate() {
        if (begins.empty() || out.size() == begins.back() + 1 || out.back() == ':') return;
        out += ',';
    }
};

ConnectFault json_document(Value& value) {
    if (value.kind != Value::Kind::text) return not_json;
    if (!is_json_text(value.text)) return not_json;
    value = {Value::Kind::json, {}, trim_json_space(value.text)};
    return nullptr;
}

}  // namespace

ConnectReader::ConnectReader() : buffer_(std::make_unique<JsonBuffer>()) {}
ConnectReader::~ConnectReader() = default;

ConnectFault ConnectReader::document(const ConnectSchema& schema, const ConnectNode& node,
                                     Value& value, std::pmr::memory_resource& arena) {
    made_.clear();
    ConnectRewriter rewriter{schema, made_};
    if (JsonReader<ConnectRewriter>(*buffer_, rewriter).run(value.text, &node)) {
        return rewriter.misfit != nullptr ? rewriter.misfit : not_json;
    }
    // A fault in the last value of all does not end the walk.
    if (rewriter.misfit != nullptr) return rewriter.misfit;
    value.text = keep(arena, made_);
    return nullptr;
}

ConnectFault ConnectReader::apply(const ConnectSchema& schema, const ConnectNode& node,
                                  Value& value, std::pmr::memory_resource& arena) {
    using Kind = Value::Kind;
    if (!node.changes || is_missing(value)) return nullptr;
    if (node.type == ConnectType::json) return json_document(value);
    made_.clear();
    if (node.type == ConnectType::variable_decimal) {
        if (value.kind == Kind::number) return nullptr;
        const ConnectFault fault =
            value.kind == Kind::json ? append_variable_decimal(value.text, made_) : not_decimal;
        if (fault != nullptr) return fault;
        value = {Kind::number, {}, keep(arena, made_)};
        return nullptr;
    }
    if (node.type == ConnectType::plain) {
        return value.kind == Kind::json ? document(schema, node, value, arena) : nullptr;
    }
    if (value.kind != Kind::number && value.kind != Kind::text) {
        return node.type == ConnectType::decimal ? not_decimal : not_whole;
    }
    if (node.type == ConnectType::moment_millis) {
        const auto count =
            value.kind == Kind::number ? number_of<std::int64_t>(value.text) : std::nullopt;
        const auto moment = count ? avro::fine_moment(*count, 1'000) : std::nullopt;
        // The text is made to see whether the year has four digits.
        if (!moment || !avro::append_moment(moment->micros, 0, "Z", made_)) {
            return count ? not_in_years : not_whole;
        }
        value = {.kind = Kind::timestamp, .integer = moment->micros};
        return nullptr;
    }
    if (const ConnectFault fault =
            append_typed(node, value.kind == Kind::text, value.text, made_)) {
        return fault;
    }
    const bool number = node.type == ConnectType::decimal;
    value = {number ? Kind::number : Kind::text, {}, keep(arena, made_)};
    return nullptr;
}

}  // namespace onceward
