#include <simdjson.h>

#include "dedup/postgres/binary.h"
#include "sinks/columns/column_encoder.h"

namespace onceward::encode {
namespace {

namespace ondemand = simdjson::ondemand;
constexpr Misfit no_array = "is not a JSON array";

std::string_view trimmed(std::string_view token) {
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ')
        token.remove_suffix(1);
    return token;
}

// A member as a value; numbers exactly as they were written.
simdjson::error_code read_member(ondemand::value& member, Value& value) {
    ondemand::json_type type;
    if (const auto error = member.type().get(type)) return error;
    switch (type) {
        case ondemand::json_type::null:
            value.kind = Value::Kind::null;
            return trimmed(member.raw_json_token()) == "null" ? simdjson::SUCCESS
                                                              : simdjson::N_ATOM_ERROR;
        case ondemand::json_type::boolean:
            value.kind = Value::Kind::boolean;
            return member.get_bool().get(value.boolean);
        case ondemand::json_type::number:
            value.kind = Value::Kind::number;
            value.text = trimmed(member.raw_json_token());
            return simdjson::SUCCESS;
        case ondemand::json_type::string:
            value.kind = Value::Kind::text;
            return member.get_string().get(value.text);
        case ondemand::json_type::object:
        case ondemand::json_type::array:
            value.kind = Value::Kind::json;
            return simdjson::to_json_string(member).get(value.text);
    }
    return simdjson::INCORRECT_TYPE;
}

}  // namespace

Misfit array(const Value& value, const ColumnType& type, Lossy lossy, std::string& out) {
    if (value.kind != Value::Kind::json) return no_array;
    thread_local ondemand::parser parser;
    const simdjson::padded_string padded(value.text);
    ondemand::document document;
    ondemand::array members;
    if (parser.iterate(padded).get(document) || document.get_array().get(members)) return no_array;
    const ColumnType& element = *type.element;
    const bool takes_json = element.kind == TypeKind::json || element.kind == TypeKind::jsonb;
    const std::size_t start = out.size();
    binary::put32(out, 1);  // dimensions
    binary::put32(out, 1);  // there may be nulls
    binary::put32(out, element.oid);
    binary::put32(out, 0);  // the number of members, known at the end
    binary::put32(out, 1);  // the first index
    std::uint32_t count = 0;
    for (auto entry : members) {
        ondemand::value member;
        Value item;
        if (std::move(entry).get(member) || read_member(member, item)) return "holds broken JSON";
        if (item.kind == Value::Kind::json && !takes_json)
            return "holds a member that is not a scalar";
        const Misfit misfit = append_value(item, element, Provenance::field, out, lossy);
        if (!misfit.empty()) return "holds a member that does not fit the array's type";
        ++count;
    }
    if (count == 0) {
        out.resize(start);
        binary::put32(out, 0);
        binary::put32(out, 0);
        binary::put32(out, element.oid);
        return {};
    }
    std::string size;
    binary::put32(size, count);
    out.replace(start + 12, size.size(), size);
    return {};
}

}  // namespace onceward::encode
