#include "gateway/checks/key_header.h"

#include <algorithm>

#include "dedup/base/structured_field.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// DANGER: no comma. Two lines that a proxy has joined read `a, b`, and would pass for a third key.
bool plain_character(char c) { return c > 0x20 && c < 0x7F && c != ',' && c != '"'; }

// A character that a string in RFC 8941 may contain, including the blank.
bool quotable_character(char c) { return c >= 0x20 && c < 0x7F; }

std::optional<std::string> plain_text(std::string_view value) {
    if (!std::ranges::all_of(value, plain_character)) return std::nullopt;
    return std::string(value);
}

std::optional<std::string> text_of(std::string_view value, KeyFormat format) {
    const bool structured =
        format == KeyFormat::structured || (format == KeyFormat::either && value.starts_with('"'));
    return structured ? structured_string(value) : plain_text(value);
}

// The words for a fault of a key at its place. `elsewhere` tells a client that sent the header
// where the key has to be instead.
struct PlaceWords {
    std::string name, missing, elsewhere;
};

PlaceWords words_at(const KeyHeaderOptions& options, const KeyPlace& place) {
    switch (place.kind) {
        case KeyPlace::Kind::header:
            return {options.header, "This operation needs the header " + options.header + ".", ""};
        case KeyPlace::Kind::field:
            return {"The key at " + place.field, "The body has no key at " + place.field + ".",
                    "The key is in the body, at " + place.field + "."};
        case KeyPlace::Kind::item:
            return {"`key`", "Each item needs a member `key`.",
                    "The keys are in the body: each item's `key`."};
    }
    return {};
}

// Each byte of an ASCII header is a character.
std::string lengths_of(const KeyHeaderOptions& options, const KeyPlace& place) {
    const std::string least = std::to_string(options.length_min);
    const std::string most = std::to_string(options.length_max);
    return (least == most ? most : least + " to " + most) +
           (place.kind == KeyPlace::Kind::header ? " characters" : " bytes");
}

}  // namespace

std::string canonical_key(std::string text, const KeyHeaderOptions& options) {
    return options.uuid ? lower_case(std::move(text)) : text;
}

std::optional<KeyFault> check_key_text(std::string_view text, const KeyHeaderOptions& options) {
    if (text.size() < options.length_min) return KeyFault::too_short;
    if (text.size() > options.length_max) return KeyFault::too_long;
    if (text.find('\0') != std::string_view::npos) return KeyFault::malformed;
    if (options.uuid && !is_uuid(text)) return KeyFault::no_uuid;
    return std::nullopt;
}

std::optional<KeyFault> check_key_for_header(std::string_view text,
                                             const KeyHeaderOptions& options) {
    const bool fits = options.format == KeyFormat::plain
                          ? std::ranges::all_of(text, plain_character)
                          : std::ranges::all_of(text, quotable_character);
    if (!fits) return KeyFault::malformed;
    return check_key_text(text, options);
}

KeyReading read_key(const HttpHeaders& headers, const KeyHeaderOptions& options) {
    const std::vector<std::string_view> values = values_of(headers, options.header);
    if (values.empty()) {
        if (options.use != KeyUse::required) return {};
        return {.fault = KeyFault::missing};
    }
    if (options.use == KeyUse::forbidden) return {.fault = KeyFault::not_expected};
    if (values.size() > 1) return {.fault = KeyFault::repeated};
    if (values.front().empty()) return {.fault = KeyFault::malformed};
    std::optional<std::string> text = text_of(values.front(), options.format);
    if (!text) return {.fault = KeyFault::malformed};
    if (const auto fault = check_key_text(*text, options)) return {.fault = fault};
    return {.key = RequestKey{.text = canonical_key(std::move(*text), options),
                              .written = std::string(values.front())}};
}

std::string describe(KeyFault fault, const KeyHeaderOptions& options, const KeyPlace& place) {
    const auto [name, missing, elsewhere] = words_at(options, place);
    switch (fault) {
        case KeyFault::missing: return missing;
        case KeyFault::not_expected:
            if (options.use != KeyUse::forbidden && !elsewhere.empty()) return elsewhere;
            return "This operation takes no " + options.header +
                   "; nothing would be kept under it.";
        case KeyFault::repeated: return name + " was sent more than once.";
        case KeyFault::malformed:
            // JSON has its own quotes, so the only character that makes a key malformed is U+0000.
            if (place.kind == KeyPlace::Kind::field) {
                return name + " must be a text without U+0000, or a whole number.";
            }
            if (place.kind == KeyPlace::Kind::item) return name + " must be without U+0000.";
            if (options.format == KeyFormat::structured) {
                return name + " must be a string in double quotes (RFC 8941).";
            }
            return name +
                   " must be printable ASCII without blanks and commas, or a string in double "
                   "quotes (RFC 8941).";
        case KeyFault::too_short:
        case KeyFault::too_long: return name + " must have " + lengths_of(options, place) + ".";
        case KeyFault::no_uuid: return name + " must be a UUID.";
    }
    return {};
}

}  // namespace onceward
