#include "consumer/intake/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "consumer/intake/canonical_json.h"

namespace onceward {
namespace {

// Up to here a double holds every whole number; beyond it Protobuf's JSON form is in quotes, and so
// is this one.
constexpr std::int64_t exact = std::int64_t{1} << 53;

void append_whole(const std::string& digits, bool is_exact, std::string& out) {
    out += is_exact ? digits : "\"" + digits + "\"";
}

void append_real(double real, std::string& out) {
    if (std::isfinite(real)) return append_canonical_real(real, out);
    out += std::isnan(real) ? "\"NaN\"" : real > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

// REQUIRES: it is not absent. Returns what is wrong.
std::optional<std::string> append_value(const Value& value, std::string& out) {
    switch (value.kind) {
        case Value::Kind::absent:
        case Value::Kind::null: out += "null"; break;
        case Value::Kind::boolean: out += value.boolean ? "true" : "false"; break;
        case Value::Kind::integer:
        case Value::Kind::timestamp:
            append_whole(std::to_string(value.integer),
                         value.integer <= exact && value.integer >= -exact, out);
            break;
        case Value::Kind::natural:
            append_whole(std::to_string(value.natural), value.natural <= std::uint64_t{exact}, out);
            break;
        case Value::Kind::real: append_real(value.real, out); break;
        case Value::Kind::text: append_canonical_string(value.text, out); break;
        case Value::Kind::bytes: out += '"' + hex(value.text) + '"'; break;
        case Value::Kind::number:
            if (!append_canonical_number(value.text, out)) return "a number is beyond every double";
            break;
        case Value::Kind::json: return append_canonical(value.text, out);
    }
    return std::nullopt;
}

}  // namespace

FieldsFingerprint::FieldsFingerprint(std::vector<Field> fields) : fields_(std::move(fields)) {
    std::ranges::sort(fields_, utf16_less, &Field::path);
    const auto same = std::ranges::unique(fields_, {}, &Field::path);
    fields_.erase(same.begin(), same.end());
}

std::optional<std::string> FieldsFingerprint::text(Operation operation,
                                                   std::span<const Value> values,
                                                   std::string& out) const {
    out = operation == Operation::remove ? "-{" : "{";
    bool first = true;
    for (const auto& [path, place] : fields_) {
        const Value& value = values[place];
        if (value.kind == Value::Kind::absent) continue;
        if (!std::exchange(first, false)) out.push_back(',');
        append_canonical_string(path, out);
        out.push_back(':');
        if (const auto fault = append_value(value, out)) {
            return "the fingerprint's field `" + path + "` has no canonical form: " + *fault;
        }
    }
    out.push_back('}');
    return std::nullopt;
}

void FieldsFingerprint::take(Message& message, std::span<const Value> values) const {
    std::string form;
    if (std::optional<std::string> fault = text(message.operation, values, form)) {
        message.rejection = Rejection{Rejection::Kind::undecodable, std::move(*fault), {}, 1};
        return;
    }
    message.fingerprint = digest_of_bytes(form);
}

}  // namespace onceward
