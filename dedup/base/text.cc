#include "dedup/base/text.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace onceward {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

void append_byte(unsigned char byte, std::string& out) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

struct Character {
    std::uint32_t code = 0;
    std::size_t length = 0;  // 0: not UTF-8
};

std::size_t length_by_first(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return 2;
    if (first >= 0xE0 && first <= 0xEF) return 3;
    if (first >= 0xF0 && first <= 0xF4) return 4;
    return 0;
}

// RFC 3629: neither overlong forms, nor surrogates, nor codes above U+10FFFF.
Character first_character(std::string_view bytes) {
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const auto first = static_cast<unsigned char>(bytes.front());
    const std::size_t length = length_by_first(first);
    if (length == 1) return {first, 1};
    if (length == 0 || bytes.size() < length) return {};
    std::uint32_t code = first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(bytes[i]);
        if ((next & 0xC0U) != 0x80) return {};
        code = (code << 6U) | (next & 0x3FU);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < least[length] || code > 0x10FFFF || surrogate) return {};
    return {code, length};
}

bool within(std::uint32_t code, std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
}

// Control characters, line and paragraph separators, marks of direction, invisible characters.
bool hostile(std::uint32_t code) {
    return code < 0x20 || within(code, 0x7F, 0x9F) || code == 0x061C ||
           within(code, 0x200B, 0x200F) || within(code, 0x2028, 0x202E) ||
           within(code, 0x2060, 0x2069) || code == 0xFEFF;
}

void append_escape(std::string& text, const char* format, std::uint32_t code) {
    std::array<char, 12> escape{};
    std::snprintf(escape.data(), escape.size(), format, static_cast<unsigned>(code));
    text += escape.data();
}

}  // namespace

std::string lower_case(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size())) {
        text.replace(at, what.size(), with);
    }
    return text;
}

std::string hex(std::string_view bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char c : bytes) append_byte(static_cast<unsigned char>(c), text);
    return text;
}

std::string base64(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

bool append_base64(std::string_view text, std::string& out) {
    if (text.size() % 4 != 0) return false;
    if (text.empty()) return true;
    // OpenSSL trims blanks, counts padding as bytes and takes it anywhere; this handles all three.
    const auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    if (std::ranges::any_of(text, blank)) return false;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    if (text.find('=') < text.size() - padding) return false;
    const std::size_t start = out.size();
    out.resize(start + text.size() / 4 * 3);
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data() + start),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    if (size < 0) return false;
    out.resize(start + static_cast<std::size_t>(size) - padding);
    return true;
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

std::string safe_text(std::string_view bytes, LineBreaks breaks) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const Character character = first_character(bytes);
        const bool kept = breaks == LineBreaks::kept &&
                          (character.code == '\n' || character.code == '\t') &&
                          character.length == 1;
        if (character.length == 0) {
            append_escape(text, "\\x%02x", static_cast<unsigned char>(bytes.front()));
            bytes.remove_prefix(1);
            continue;
        }
        if (hostile(character.code) && !kept) {
            append_escape(text, "\\u%04x", character.code);
        } else {
            text += bytes.substr(0, character.length);
        }
        bytes.remove_prefix(character.length);
    }
    return text;
}

std::string safe_value(std::string_view bytes, std::size_t most) {
    if (bytes.size() <= most) return safe_text(bytes, LineBreaks::escaped);
    std::string_view begin = bytes.substr(0, most);
    begin.remove_suffix(incomplete_tail(begin));
    return safe_text(begin, LineBreaks::escaped) + "... (" + std::to_string(bytes.size()) +
           " bytes in all)";
}

std::size_t incomplete_tail(std::string_view bytes) {
    for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
        const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
        if ((byte & 0xC0U) == 0x80) continue;
        return length_by_first(byte) > back ? back : 0;
    }
    return 0;
}

std::size_t utf8_prefix(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        const std::size_t length = first_character(bytes.substr(at)).length;
        if (length == 0) break;
        at += length;
    }
    return at;
}

}  // namespace onceward
