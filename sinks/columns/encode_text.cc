#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "dedup/base/text.h"
#include "sinks/columns/column_encoder.h"
#include "dedup/base/iso_time.h"

namespace onceward::encode {
namespace {

constexpr std::chrono::microseconds end_of_9999{253402300800'000'000};
constexpr std::chrono::microseconds begin_of_1{-62135596800'000'000};

// What each byte counts as a hex digit; -1: it is none.
const std::array<std::int8_t, 256> hex_digits = [] {
    std::array<std::int8_t, 256> digits;
    for (std::size_t byte = 0; byte < digits.size(); ++byte) {
        digits[byte] = static_cast<std::int8_t>(hex_value(static_cast<char>(byte)));
    }
    return digits;
}();

bool append_hex(std::string_view digits, std::string& out) {
    if (digits.size() % 2 != 0) return false;
    const std::size_t begin = out.size();
    out.resize(begin + digits.size() / 2);
    int all = 0;  // negative as soon as one of them is
    for (std::size_t i = 0; i < digits.size() / 2; ++i) {
        const int high = hex_digits[static_cast<unsigned char>(digits[2 * i])];
        const int low = hex_digits[static_cast<unsigned char>(digits[2 * i + 1])];
        all |= high | low;
        out[begin + i] = static_cast<char>(high * 16 + low);
    }
    return all >= 0;
}

std::size_t characters(std::string_view text) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    return static_cast<std::size_t>(std::ranges::count_if(text, begins));
}

// varchar(n) and char(n) forgive blanks beyond n, and only them.
Misfit check_length(std::string_view text, int most) {
    if (most == 0 || text.size() <= static_cast<std::size_t>(most)) return {};
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (characters(text) <= static_cast<std::size_t>(most)) return {};
    return "is longer than the column allows";
}

Misfit append_quoted(std::string_view text, std::string& out) {
    if (!simdjson::validate_utf8(text.data(), text.size())) return "is not valid UTF-8";
    append_json_string(text, out);
    return {};
}

Misfit append_time(const Value& value, std::string& out) {
    const std::chrono::microseconds moment{value.integer};
    if (moment < begin_of_1 || moment >= end_of_9999)
        return "is a time outside the years 1 to 9999";
    if (value.text.empty()) {
        out.append(iso_text(moment));
    } else {
        out.append(value.text);
    }
    return {};
}

}  // namespace

Misfit check_text(std::string_view bytes) {
    if (std::memchr(bytes.data(), 0, bytes.size()) != nullptr) {
        return "holds a NUL character, which PostgreSQL's text cannot";
    }
    if (!simdjson::validate_utf8(bytes.data(), bytes.size())) return "is not valid UTF-8";
    return {};
}

Misfit text(const Value& value, const ColumnType& type, std::string& out) {
    const std::size_t start = out.size();
    switch (value.kind) {
        case Value::Kind::text:
        case Value::Kind::bytes:
        case Value::Kind::number:
        case Value::Kind::json:
            if (const Misfit misfit = check_text(value.text); !misfit.empty()) return misfit;
            out.append(value.text);
            break;
        case Value::Kind::integer:
        case Value::Kind::natural:
        case Value::Kind::real: out.append(NumberText(value).view()); break;
        case Value::Kind::boolean: out.append(value.boolean ? "true" : "false"); break;
        case Value::Kind::timestamp:
            if (const Misfit misfit = append_time(value, out); !misfit.empty()) return misfit;
            break;
        case Value::Kind::absent:
        case Value::Kind::null: return "has no value";
    }
    return check_length(std::string_view(out).substr(start), type.max_characters);
}

Misfit json(const Value& value, Provenance provenance, std::string& out) {
    switch (value.kind) {
        case Value::Kind::text:
            if (provenance == Provenance::field) return append_quoted(value.text, out);
            [[fallthrough]];
        case Value::Kind::bytes:
            if (provenance == Provenance::field) return "holds raw bytes, which JSON cannot";
            [[fallthrough]];
        case Value::Kind::json:
        case Value::Kind::number:
            // Whether it is JSON is for the server to say: a field's raw text was only skimmed by
            // the decoder.
            if (const Misfit misfit = check_text(value.text); !misfit.empty()) return misfit;
            out.append(value.text);
            return {};
        case Value::Kind::real:
            if (!std::isfinite(value.real)) return "is not a finite number, which JSON demands";
            [[fallthrough]];
        case Value::Kind::integer:
        case Value::Kind::natural: out.append(NumberText(value).view()); return {};
        case Value::Kind::boolean: out.append(value.boolean ? "true" : "false"); return {};
        case Value::Kind::timestamp: {
            out.push_back('"');
            const Misfit misfit = append_time(value, out);
            out.push_back('"');
            return misfit;
        }
        case Value::Kind::absent:
        case Value::Kind::null: break;
    }
    return "has no value";
}

Misfit bytea(const Value& value, Provenance provenance, std::string& out) {
    const bool as_it_is = value.kind == Value::Kind::bytes ||
                          (value.kind == Value::Kind::text && provenance == Provenance::whole);
    if (as_it_is) {
        out.append(value.text);
        return {};
    }
    if (value.kind != Value::Kind::text) return "holds neither bytes nor text";
    // A backslash is no base64 digit, so the two forms cannot be taken for each other.
    const bool good = value.text.starts_with("\\x") ? append_hex(value.text.substr(2), out)
                                                    : append_base64(value.text, out);
    return good ? Misfit{} : "is neither base64 nor \\x and hex digits";
}

Misfit uuid(const Value& value, std::string& out) {
    constexpr Misfit no_uuid = "is not a UUID";
    if (value.kind == Value::Kind::bytes && value.text.size() == 16) {
        out.append(value.text);
        return {};
    }
    if (value.kind != Value::Kind::text && value.kind != Value::Kind::bytes) return no_uuid;
    std::string_view text = value.text;
    if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
    if (text.size() == 32) return append_hex(text, out) ? Misfit{} : no_uuid;
    if (text.size() != 36) return no_uuid;
    std::array<char, 32> digits;
    auto end = digits.begin();
    std::size_t begin = 0;
    for (const std::size_t hyphen : {8, 13, 18, 23, 36}) {
        if (hyphen < text.size() && text[hyphen] != '-') return no_uuid;
        end = std::ranges::copy(text.substr(begin, hyphen - begin), end).out;
        begin = hyphen + 1;
    }
    return append_hex({digits.data(), digits.size()}, out) ? Misfit{} : no_uuid;
}

}  // namespace onceward::encode
