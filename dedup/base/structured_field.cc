#include "dedup/base/structured_field.h"

#include <algorithm>

namespace onceward {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool among(char c, std::string_view characters) {
    return characters.find(c) != std::string_view::npos;
}

// Reads from the front of a field; each function takes what it names, or says that it is not there.
class FieldReader {
  public:
    explicit FieldReader(std::string_view rest) : rest_(rest) {}

    bool at_end() const { return rest_.empty(); }
    bool take(char wanted) {
        if (rest_.empty() || rest_.front() != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void spaces() {
        while (take(' ')) {
        }
    }

    // RFC 8941, 4.2.5.
    std::optional<std::string> string() {
        if (!take('"')) return std::nullopt;
        std::string text;
        while (!rest_.empty()) {
            const char c = next();
            if (c == '"') return text;
            if (c == '\\') {
                if (rest_.empty() || !among(rest_.front(), "\"\\")) return std::nullopt;
                text += next();
            } else if (c < 0x20 || c > 0x7E) {
                return std::nullopt;
            } else {
                text += c;
            }
        }
        return std::nullopt;
    }

    // RFC 8941, 4.2.3.2: *( ";" *SP key [ "=" bare item ] )
    bool parameters() {
        while (take(';')) {
            spaces();
            if (!key()) return false;
            if (take('=') && !bare_item()) return false;
        }
        return true;
    }

  private:
    char next() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    template <class Of>
    std::size_t while_of(Of of) {
        const auto end = std::ranges::find_if_not(rest_, of);
        const auto length = static_cast<std::size_t>(end - rest_.begin());
        rest_.remove_prefix(length);
        return length;
    }

    bool key() {
        if (rest_.empty() || !(is_lower(rest_.front()) || rest_.front() == '*')) return false;
        while_of([](char c) { return is_lower(c) || is_digit(c) || among(c, "_-.*"); });
        return true;
    }

    bool bare_item() {
        if (rest_.empty()) return false;
        const char first = rest_.front();
        if (first == '"') return string().has_value();
        if (first == '-' || is_digit(first)) return number();
        if (first == '?') {
            next();
            return take('0') || take('1');
        }
        if (first == ':') {
            next();
            return bytes() && take(':');
        }
        if (!is_letter(first) && first != '*') return false;
        while_of(
            [](char c) { return is_letter(c) || is_digit(c) || among(c, "!#$%&'*+-.^_`|~:/"); });
        return true;
    }

    // Base64 in groups of four; the last one may be padded, or without its padding.
    bool bytes() {
        const std::size_t length =
            while_of([](char c) { return is_letter(c) || is_digit(c) || among(c, "+/"); });
        const std::size_t padding = while_of([](char c) { return c == '='; });
        if (length % 4 == 1) return false;
        return padding == 0 || (length % 4 != 0 && padding == 4 - length % 4);
    }

    // Fifteen digits, or twelve and a fraction of three.
    bool number() {
        take('-');
        const std::size_t whole = while_of(is_digit);
        if (whole == 0 || whole > 15) return false;
        if (!take('.')) return true;
        const std::size_t fraction = while_of(is_digit);
        return whole <= 12 && fraction >= 1 && fraction <= 3;
    }

    std::string_view rest_;
};

}  // namespace

std::optional<std::string> structured_string(std::string_view field) {
    FieldReader reader(field);
    reader.spaces();
    std::optional<std::string> text = reader.string();
    if (!text || !reader.parameters()) return std::nullopt;
    reader.spaces();
    return reader.at_end() ? text : std::nullopt;
}

}  // namespace onceward
