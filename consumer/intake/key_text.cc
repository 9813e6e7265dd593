#include "consumer/intake/key_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "dedup/message/message.h"

namespace onceward {
namespace {

KeyText found(std::string_view text) { return {KeyText::Status::found, text, nullptr}; }
KeyText invalid(const char* fault) { return {KeyText::Status::invalid, {}, fault}; }

template <class Number>
KeyText number_text(Number number, std::pmr::memory_resource& arena) {
    std::array<char, 32> digits{};
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return found(
        keep(arena, {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())}));
}

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_uuid(std::string_view text) {
    if (text.size() != 36) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_hex(text[i])) {
            return false;
        }
    }
    return true;
}

}  // namespace

KeyText key_text(const Value& value, std::pmr::memory_resource& arena) {
    switch (value.kind) {
        case Value::Kind::absent:
        case Value::Kind::null: return {};
        case Value::Kind::number:
        case Value::Kind::text:
        case Value::Kind::bytes: return found(value.text);
        case Value::Kind::integer: return number_text(value.integer, arena);
        case Value::Kind::natural: return number_text(value.natural, arena);
        case Value::Kind::real: return number_text(value.real, arena);
        case Value::Kind::boolean: return invalid("it is a boolean, which is no key");
        case Value::Kind::json: return invalid("it is an object or a list, which is no key");
        case Value::Kind::timestamp: return invalid("it is a time, which is no key");
    }
    return {};
}

KeyText strip_quotes(std::string_view header, std::pmr::memory_resource& arena) {
    if (header.empty() || header.front() != '"') {
        return found(header);
    }
    header.remove_prefix(1);
    if (header.empty() || header.back() != '"') {
        return invalid("its opening quote has no closing one");
    }
    header.remove_suffix(1);
    const bool escaped = header.find('\\') != std::string_view::npos;
    auto* const copy = escaped ? static_cast<char*>(arena.allocate(header.size(), 1)) : nullptr;
    std::size_t length = 0;
    for (std::size_t i = 0; i < header.size(); ++i, ++length) {
        const bool escape = header[i] == '\\';
        i += escape ? 1 : 0;
        const char next = i < header.size() ? header[i] : '\0';
        const bool special = next == '"' || next == '\\';
        if (special != escape) {
            return invalid("it is no RFC 8941 string: a quote or backslash stands wrong");
        }
        if (copy != nullptr) {
            copy[length] = next;
        }
    }
    return found(escaped ? std::string_view(copy, length) : header);
}

std::string_view canonical_key_text(std::string_view text, const KeyOptions& options,
                                    std::pmr::memory_resource& arena) {
    const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (options.charset != KeyOptions::Charset::uuid || std::ranges::none_of(text, capital)) {
        return text;
    }
    auto* const copy = static_cast<char*>(arena.allocate(text.size(), 1));
    std::ranges::transform(text, copy, [&](char c) {
        return capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return {copy, text.size()};
}

const char* key_fault(std::string_view text, const KeyOptions& options) {
    if (text.size() < options.length_min) {
        return text.empty() ? "it is empty" : "it is shorter than the topic allows";
    }
    if (text.size() > options.length_max) {
        return "it is longer than the topic allows";
    }
    // DANGER: text is cut at a NUL by much of what shows keys; two keys would look like one.
    if (text.find('\0') != std::string_view::npos) {
        return "it contains a NUL";
    }
    switch (options.charset) {
        case KeyOptions::Charset::any: return nullptr;
        case KeyOptions::Charset::ascii_printable:
            return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })
                       ? nullptr
                       : "it has a character that is not printable ASCII";
        case KeyOptions::Charset::uuid: return is_uuid(text) ? nullptr : "it is no UUID";
    }
    return nullptr;
}

}  // namespace onceward
