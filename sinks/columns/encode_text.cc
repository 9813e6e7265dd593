#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "dedup/base/iso_time.h"
#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"
#include "sinks/columns/column_encoder.h"

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

// The byte of two digits; `all` becomes negative if one of them is not a hex digit.
char hex_byte(const char* digits, int& all) {
    const int high = hex_digits[static_cast<unsigned char>(digits[0])];
    const int low = hex_digits[static_cast<unsigned char>(digits[1])];
    all |= high | low;
    return static_cast<char>(high * 16 + low);
}

bool append_hex(std::string_view digits, std::string& out) {
    if (digits.size() % 2 != 0) return false;
    const std::size_t begin = out.size();
    out.resize(begin + digits.size() / 2);
    int all = 0;  // negative as soon as one of them is
    for (std::size_t i = 0; i < digits.size() / 2; ++i) {
        out[begin + i] = hex_byte(digits.data() + 2 * i, all);
    }
    return all >= 0;
}

// Whether all of it is ASCII without a NUL, which most texts are: eight bytes at a time. For a
// short text the two calls below take longer than all of this.
bool is_plain(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t highs = 0x8080808080808080;
    std::uint64_t odd = 0;  // has the high bit of each byte that is 0 or beyond ASCII
    std::uint64_t eight = 0;
    while (text.size() >= sizeof eight) {
        std::memcpy(&eight, text.data(), sizeof eight);
        odd |= eight | (eight - ones);
        text.remove_prefix(sizeof eight);
    }
    for (const char c : text) {
        odd |= static_cast<unsigned char>(c - 1) | static_cast<unsigned char>(c);
    }
    return (odd & highs) == 0;
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
    if (is_plain(bytes)) return {};
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
            // A field's document is JSON. The server decides about a text that came whole.
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
    for (const std::size_t hyphen : {8, 13, 18, 23}) {
        if (text[hyphen] != '-') return no_uuid;
    }
    int all = 0;  // negative as soon as one of them is no digit
    for (const auto& half : {std::array{0, 2, 4, 6, 9, 11, 14, 16},
                             std::array{19, 21, 24, 26, 28, 30, 32, 34}}) {
        std::uint64_t bytes = 0;
        for (const int pair : half) {
            bytes = bytes << 8 | static_cast<unsigned char>(hex_byte(text.data() + pair, all));
        }
        binary::put64(out, bytes);
    }
    return all >= 0 ? Misfit{} : no_uuid;
}

}  // namespace onceward::encode
