// What Avro's values become, alone and in JSON.

#include <bit>
#include <charconv>
#include <cmath>

#include "consumer/decode/avro/logical_types.h"
#include "consumer/decode/avro_reader.h"
#include "consumer/decode/connect/connect_value.h"
#include "consumer/decode/decoder.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Type = AvroSchema::Type;
using Logical = AvroSchema::Logical;

constexpr const char* no_date = "a date or time is outside the years 1 to 9999";
constexpr const char* no_time = "a time of day is not within a day";
constexpr const char* no_decimal = "a decimal is too long";
constexpr const char* no_variable = "a decimal of Debezium's has no scale or value";

template <class Number>
void append_number(Number number, std::string& out) {
    char buffer[32];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

// Writes values for which JSON has no number as Protobuf's JSON does.
void append_real(double real, std::string& out) {
    if (std::isfinite(real)) return append_number(real, out);
    out += std::isnan(real) ? "\"NaN\"" : real > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

}  // namespace

template <class Real, class Bits>
bool AvroReader::real(double& real) {
    std::string_view bytes;
    if (!take(sizeof(Real), bytes)) return false;
    Bits bits = 0;
    for (std::size_t i = sizeof(Real); i-- > 0;) {
        bits = bits << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    real = std::bit_cast<Real>(bits);
    return true;
}

bool AvroReader::moment(std::int64_t count, std::int64_t units_a_second, bool local, Value& value) {
    const std::optional<avro::FineMoment> moment = avro::fine_moment(count, units_a_second);
    if (!moment) return fault(no_date);
    const auto [micros, nanos] = *moment;
    if (local) {
        if (!avro::append_moment(micros, nanos, "", made_)) return fault(no_date);
        value = made(Value::Kind::text);
        return true;
    }
    value = {.kind = Value::Kind::timestamp, .integer = micros};
    if (nanos == 0) return true;
    if (!avro::append_moment(micros, nanos, "Z", made_)) return fault(no_date);
    value.text = made_;
    return true;
}

// Reads a whole number as Connect means it.
bool AvroReader::connect(const Node& node, std::int64_t number, Value& value) {
    if (node.connect == ConnectType::moment_millis) return moment(number, 1'000, false, value);
    if (append_connect_time(node.connect, number, made_) != nullptr) return fault(no_date);
    value = made(Value::Kind::text);
    return true;
}

bool AvroReader::logical(const Node& node, std::int64_t number, Value& value) {
    if (node.connect != ConnectType::plain) return connect(node, number, value);
    switch (node.logical) {
        case Logical::date:
            if (!avro::append_date(number, made_)) return fault(no_date);
            break;
        case Logical::time_millis:
            if (!avro::append_time(number * 1'000, made_)) return fault(no_time);
            break;
        case Logical::time_micros:
            if (!avro::append_time(number, made_)) return fault(no_time);
            break;
        case Logical::timestamp_millis: return moment(number, 1'000, false, value);
        case Logical::timestamp_micros: return moment(number, 1'000'000, false, value);
        case Logical::timestamp_nanos: return moment(number, 1'000'000'000, false, value);
        case Logical::local_timestamp_millis: return moment(number, 1'000, true, value);
        case Logical::local_timestamp_micros: return moment(number, 1'000'000, true, value);
        case Logical::local_timestamp_nanos: return moment(number, 1'000'000'000, true, value);
        default: value = integer_value(number); return true;
    }
    value = made(Value::Kind::text);
    return true;
}

bool AvroReader::logical(const Node& node, std::string_view bytes, Value& value) {
    switch (node.logical) {
        case Logical::decimal:
            if (!avro::append_decimal(bytes, node.scale, made_)) return fault(no_decimal);
            value = made(Value::Kind::number);
            return true;
        case Logical::uuid: made_ = uuid_text(bytes); break;
        case Logical::duration: avro::append_duration(bytes, made_); break;
        default: value = {Value::Kind::bytes, {}, bytes}; return true;
    }
    value = made(Value::Kind::text);
    return true;
}

bool AvroReader::scalar(const Node& node, Value& value) {
    made_.clear();
    std::string_view bytes;
    std::int64_t whole = 0;
    switch (node.type) {
        case Type::null: value = {Value::Kind::null, {}, {}}; return true;
        case Type::boolean: {
            bool either = false;
            if (!boolean(either)) return false;
            value = {.kind = Value::Kind::boolean, .boolean = either};
            return true;
        }
        case Type::int32: return number32(whole) && logical(node, whole, value);
        case Type::int64: return number(whole) && logical(node, whole, value);
        case Type::float32:
        case Type::float64: {
            double number = 0;
            const bool good = node.type == Type::float32 ? real<float, std::uint32_t>(number)
                                                         : real<double, std::uint64_t>(number);
            value = {.kind = Value::Kind::real, .real = number};
            return good;
        }
        case Type::bytes: return sized(bytes) && logical(node, bytes, value);
        case Type::fixed: return take(node.size, bytes) && logical(node, bytes, value);
        case Type::string:
            if (!text(bytes)) return false;
            if (node.connect == ConnectType::json && !is_json_text(bytes)) {
                return fault("a document of Debezium's is not JSON");
            }
            value = {node.connect == ConnectType::json ? Value::Kind::json : Value::Kind::text,
                     {},
                     bytes};
            return true;
        case Type::enumeration: {
            std::size_t position = 0;
            if (!symbol(node, position)) return false;
            value = {Value::Kind::text, {}, node.names[position]};
            return true;
        }
        case Type::record:
        case Type::array:
        case Type::map:
        case Type::choice: break;
    }
    return fault("its schema has an unknown type");
}

bool AvroReader::json_of_scalar(const Node& node, std::string& out) {
    Value value;
    if (!scalar(node, value)) return false;
    switch (value.kind) {
        case Value::Kind::absent:
        case Value::Kind::null: out += "null"; break;
        case Value::Kind::boolean: out += value.boolean ? "true" : "false"; break;
        case Value::Kind::integer: append_number(value.integer, out); break;
        case Value::Kind::natural: append_number(value.natural, out); break;
        case Value::Kind::real: append_real(value.real, out); break;
        case Value::Kind::number:
        case Value::Kind::json: out += value.text; break;
        case Value::Kind::text: append_json_string(value.text, out); break;
        case Value::Kind::bytes: out += '"' + base64(value.text) + '"'; break;
        case Value::Kind::timestamp:
            if (value.text.empty() && !avro::append_moment(value.integer, 0, "Z", made_)) {
                return fault(no_date);
            }
            append_json_string(made_, out);
            break;
    }
    return true;
}

// Appends the number that {"scale": n, "value": bytes} stands for.
bool AvroReader::variable_decimal(NodeId id, std::string& out) {
    std::string record;
    if (!json_of_record(schema_.node(id), record)) return false;
    return append_variable_decimal(record, out) == nullptr || fault(no_variable);
}

bool AvroReader::json_of_record(const Node& node, std::string& out) {
    out += '{';
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (i > 0) out += ',';
        append_json_string(node.names[i], out);
        out += ':';
        if (!json(node.children[i], out)) return in_field(node, i);
    }
    out += '}';
    return true;
}

bool AvroReader::json(NodeId id, std::string& out) {
    const Level level(*this);
    if (!level.good()) return false;
    const Node& node = schema_.node(id);
    bool first = true;
    const auto comma = [&first, &out] {
        if (!first) out += ',';
        first = false;
    };
    switch (node.type) {
        case Type::choice: {
            NodeId chosen = 0;
            return branch(node, chosen) && json(chosen, out);
        }
        case Type::record:
            return node.connect == ConnectType::variable_decimal ? variable_decimal(id, out)
                                                                 : json_of_record(node, out);
        case Type::array:
            out += '[';
            if (!items([&] { return comma(), json(node.children[0], out); })) return false;
            out += ']';
            return true;
        case Type::map: {
            out += '{';
            const bool good = items([&] {
                std::string_view name;
                if (!key(name)) return false;
                comma();
                append_json_string(name, out);
                out += ':';
                return json(node.children[0], out);
            });
            out += '}';
            return good;
        }
        default: return json_of_scalar(node, out);
    }
}

}  // namespace onceward
