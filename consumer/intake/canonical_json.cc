#include "consumer/intake/canonical_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "consumer/decode/json_text.h"
#include "consumer/decode/utf8.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// As JsonWalk::depth_max: each level takes stack.
constexpr int depth_max = 500;

void append_utf8(std::uint32_t point, std::string& out) {
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xC0 | point >> 6);
        put(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        put(0xE0 | point >> 12);
        put(0x80 | (point >> 6 & 0x3F));
        put(0x80 | (point & 0x3F));
    } else {
        put(0xF0 | point >> 18);
        put(0x80 | (point >> 12 & 0x3F));
        put(0x80 | (point >> 6 & 0x3F));
        put(0x80 | (point & 0x3F));
    }
}

// REQUIRES: a number as JSON writes it, which is in no double's range and hence not 0.
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

class Canonicaliser {
  public:
    explicit Canonicaliser(std::string_view text) : text_(text) {}

    std::optional<std::string> run(std::string& out) {
        value(out, 0);
        skip_space();
        if (fault_.empty() && at_ != text_.size()) fail("something follows the value");
        return fault_.empty() ? std::nullopt : std::optional(std::move(fault_));
    }

  private:
    struct Member {
        std::string name;
        std::string value;
    };

    bool fail(const char* why) {
        if (fault_.empty()) fault_ = why;
        return false;
    }
    void skip_space() {
        while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
    }
    // Whether this character comes next; passes it.
    bool next_is(char wanted) {
        skip_space();
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    bool value(std::string& out, int depth) {
        if (depth > depth_max) return fail("objects and arrays are nested too deep");
        skip_space();
        if (at_ == text_.size()) return fail("a value is missing");
        switch (text_[at_]) {
            case '{': return object(out, depth);
            case '[': return array(out, depth);
            case '"': {
                std::string read;
                if (!string(read)) return false;
                append_canonical_string(read, out);
                return true;
            }
            default: return literal(out);
        }
    }

    bool object(std::string& out, int depth) {
        ++at_;
        std::vector<Member> members;
        bool more = !next_is('}');
        while (more) {
            Member& member = members.emplace_back();
            skip_space();
            if (at_ == text_.size() || text_[at_] != '"') return fail("a name is missing");
            if (!string(member.name)) return false;
            if (!next_is(':')) return fail("a colon is missing");
            if (!value(member.value, depth + 1)) return false;
            more = next_is(',');
            if (!more && !next_is('}')) return fail("an object does not end");
        }
        std::ranges::sort(members, utf16_less, &Member::name);
        out.push_back('{');
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (i > 0 && members[i].name == members[i - 1].name) {
                return fail("an object has one name twice");
            }
            if (i > 0) out.push_back(',');
            append_canonical_string(members[i].name, out);
            out.push_back(':');
            out.append(members[i].value);
        }
        out.push_back('}');
        return true;
    }

    bool array(std::string& out, int depth) {
        ++at_;
        out.push_back('[');
        bool more = !next_is(']');
        for (bool first = true; more; first = false) {
            if (!first) out.push_back(',');
            if (!value(out, depth + 1)) return false;
            more = next_is(',');
            if (!more && !next_is(']')) return fail("an array does not end");
        }
        out.push_back(']');
        return true;
    }

    bool literal(std::string& out) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && !is_json_space(text_[at_]) && text_[at_] != ',' &&
               text_[at_] != ']' && text_[at_] != '}') {
            ++at_;
        }
        const std::string_view token = text_.substr(begin, at_ - begin);
        if (token == "true" || token == "false" || token == "null") {
            out.append(token);
            return true;
        }
        if (!is_json_number(token)) return fail("a value is not JSON");
        return append_canonical_number(token, out) || fail("a number is out of a double's range");
    }

    // Reads after the opening quote up to the closing one; escapes are resolved.
    bool string(std::string& out) {
        ++at_;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') return is_utf8(out) || fail("a string is not UTF-8");
            if (static_cast<unsigned char>(c) < 0x20) break;
            if (c != '\\') {
                out.push_back(c);
            } else if (!escape(out)) {
                return false;
            }
        }
        return fail("a string does not end");
    }

    bool escape(std::string& out) {
        constexpr std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        const char c = at_ < text_.size() ? text_[at_++] : '\0';
        if (c != 'u') {
            const std::size_t which = names.find(c);
            if (which == std::string_view::npos) return fail("an escape is not one of JSON's");
            out.push_back(meant[which]);
            return true;
        }
        const std::optional<std::uint32_t> unit = code_unit();
        if (!unit) return fail("an escape is not one of JSON's");
        if (*unit < 0xD800 || *unit > 0xDFFF) {
            append_utf8(*unit, out);
            return true;
        }
        std::optional<std::uint32_t> low;
        if (*unit < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
            at_ += 2;
            low = code_unit();
        }
        if (!low || *low < 0xDC00 || *low > 0xDFFF) return fail("a surrogate has no partner");
        append_utf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), out);
        return true;
    }

    std::optional<std::uint32_t> code_unit() {
        if (text_.size() - at_ < 4) return std::nullopt;
        std::uint32_t unit = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
        if (error != std::errc{} || end != begin + 4) return std::nullopt;
        at_ += 4;
        return unit;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string fault_;
};

// UTF-16 sorts characters above U+FFFF (surrogates) before U+E000 to U+FFFF; UTF-8 sorts them
// after.
int rank(char c) {
    const int byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
}

}  // namespace

std::optional<std::string> append_canonical(std::string_view json, std::string& out) {
    return Canonicaliser(json).run(out);
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

}  // namespace onceward
