#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

void append_byte(unsigned char byte, std::string& out) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

}  // namespace

std::string lower_case(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

std::string hex(std::string_view bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char c : bytes) append_byte(static_cast<unsigned char>(c), text);
    return text;
}

int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

bool is_uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
        if (dash ? text[at] != '-' : hex_value(text[at]) < 0) return false;
    }
    return true;
}

void append_json_string(std::string_view text, std::string& out) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            append_byte(static_cast<unsigned char>(c), out);
        } else {
            out += c;
        }
    }
    out += '"';
}

}  // namespace onceward
