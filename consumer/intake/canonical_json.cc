#include "consumer/intake/canonical_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "dedup/base/json_reader.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// REQUIRES: a number as JSON writes it, which is out of a double's range, and so not 0.
bool below_every_double(std::string_view number) {
    const std::size_t e = std::min(number.find_first_of("eE"), number.size());
    const std::string_view digits = number.substr(0, e);
    // The position of the decimal point relative to the first significant digit; negative if the
    // point precedes it.
    const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
    const std::int64_t place = point - static_cast<std::int64_t>(digits.find_first_of("123456789"));
    if (e == number.size()) return place < 0;
    const char* const begin = number.data() + e + (number[e + 1] == '+' ? 2 : 1);
    int exponent = 0;
    const auto [end, error] = std::from_chars(begin, number.data() + number.size(), exponent);
    return error == std::errc{} ? place + exponent < 0 : *begin == '-';
}

// The reader's visitor: appends each value to a text; an object's values are kept apart until all
// its names are known.
struct Canonical {
    using Place = std::string*;
    struct Member {
        std::string name;
        std::string value;
    };

    std::vector<std::vector<Member>> objects{};  // those that are open
    std::string fault{};

    bool fail(const char* why) {
        fault = why;
        return false;
    }

    bool literal(Place out, std::string_view token) {
        const bool number = token.front() == '-' || json_digits(token, 0) > 0;
        if (number) {
            return append_canonical_number(token, *out) ||
                   fail("a number is out of a double's range");
        }
        out->append(token);
        return true;
    }

    void text(Place out, std::string_view text, bool) { append_canonical_string(text, *out); }

    void open(Place out, char bracket) {
        out->push_back(bracket);
        if (bracket == '{') objects.emplace_back();
    }

    bool member(Place, std::string_view name, Place& value) {
        value = &objects.back().emplace_back(Member{std::string(name), {}}).value;
        return true;
    }

    Place element(Place out, std::uint64_t position) {
        if (position > 0) out->push_back(',');
        return out;
    }

    template <class Raw>
    bool close(Place out, char bracket, const Raw&) {
        if (bracket == '[') {
            out->push_back(']');
            return true;
        }
        std::vector<Member>& members = objects.back();
        std::ranges::sort(members, utf16_less, &Member::name);
        if (std::ranges::adjacent_find(members, {}, &Member::name) != members.end()) {
            return fail("an object has one name twice");
        }
        for (const Member& member : members) {
            if (out->back() != '{') out->push_back(',');
            append_canonical_string(member.name, *out);
            out->append(":").append(member.value);
        }
        out->push_back('}');
        objects.pop_back();
        return true;
    }
};

// UTF-16 sorts characters above U+FFFF (surrogates) before U+E000 to U+FFFF; UTF-8 sorts them
// after.
int rank(char c) {
    const int byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
}

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

std::optional<std::string> append_canonical(std::string_view json, std::string& out) {
    thread_local JsonBuffer buffer;
    Canonical canonical;
    return JsonReader<Canonical>(buffer, canonical).run(json, &out);
}

bool utf16_less(std::string_view left, std::string_view right) {
    const auto [one, other] = std::ranges::mismatch(left, right);
    if (one == left.end() || other == right.end()) return left.size() < right.size();
    return rank(*one) < rank(*other);
}

void append_canonical_string(std::string_view text, std::string& out) {
    constexpr std::string_view escaped = "\b\t\n\f\r\"\\", names = "btnfr\"\\";
    out.push_back('"');
    for (const char c : text) {
        const std::size_t which = escaped.find(c);
        const auto byte = static_cast<unsigned char>(c);
        if (which != std::string_view::npos) {
            out.push_back('\\');
            out.push_back(names[which]);
        } else if (byte < 0x20) {
            out.append("\\u00");
            out.append(hex({&c, 1}));
        } else {
            out.push_back(c);
        }
    }
    out.push_back('"');
}

bool append_canonical_number(std::string_view number, std::string& out) {
    double real = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), real);
    // For a number out of range the parser does not say whether the nearest double is 0 or does not
    // exist.
    if (error != std::errc{} && !below_every_double(number)) return false;
    append_canonical_real(error == std::errc{} ? real : 0, out);
    return true;
}

// ECMAScript, Number::toString: the fewest digits that give this double again, laid out by the
// position of the decimal point.
void append_canonical_real(double real, std::string& out) {
    if (real == 0) {  // -0 too
        out.push_back('0');
        return;
    }
    if (real < 0) out.push_back('-');
    std::array<char, 32> buffer;  // d.ddde-ddd
    const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                       real < 0 ? -real : real, std::chars_format::scientific);
    const std::string_view shortest(buffer.data(), written.ptr);
    const std::size_t e = shortest.find('e');
    std::string digits(1, shortest.front());
    if (e > 1) digits += shortest.substr(2, e - 2);
    int exponent = 0;
    const bool plus = shortest[e + 1] == '+';
    std::from_chars(shortest.data() + e + (plus ? 2 : 1), written.ptr, exponent);
    const int count = static_cast<int>(digits.size());
    const int point = exponent + 1;  // this many digits precede it
    const auto zeros = [](int number) {
        return std::string(static_cast<std::size_t>(number), '0');
    };
    if (count <= point && point <= 21) {
        out += digits + zeros(point - count);
    } else if (0 < point && point <= 21) {
        out += digits.insert(static_cast<std::size_t>(point), 1, '.');
    } else if (-6 < point && point <= 0) {
        out += "0." + zeros(-point) + digits;
    } else {
        if (count > 1) digits.insert(1, 1, '.');
        out += digits + (exponent < 0 ? "e-" : "e+") + std::to_string(std::abs(exponent));
    }
}

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
