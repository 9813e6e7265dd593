#pragma once
// The strict reader of JSON (RFC 8259): one walk over a document by simdjson's on-demand parser,
// which by itself checks only what it is asked for. Each value goes to a visitor. A reader, its
// buffer and its visitor belong to one thread. Bad JSON is a returned reason; nothing is thrown but
// bad_alloc. Include it in .cc files alone: it brings simdjson.

#include <simdjson.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

// The lexical rules of RFC 8259 that simdjson leaves to its typed getters. Pure functions.

// The most containers inside each other; PostgreSQL's own parser and ours need stack for each.
constexpr int json_depth_max = 500;

constexpr bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr std::string_view trim_json_space(std::string_view text) {
    while (!text.empty() && is_json_space(text.back())) {
        text.remove_suffix(1);
    }
    while (!text.empty() && is_json_space(text.front())) {
        text.remove_prefix(1);
    }
    return text;
}

constexpr std::size_t json_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        ++at;
    }
    return at;
}

// Whether all of `text` is one number.
constexpr bool is_json_number(std::string_view text) {
    std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
    const std::size_t whole = json_digits(text, at);
    if (whole == at || (text[at] == '0' && whole > at + 1)) {
        return false;
    }
    at = whole;
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = json_digits(text, at + 1);
        if (fraction == at + 1) {
            return false;
        }
        at = fraction;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
            ++at;
        }
        const std::size_t exponent = json_digits(text, at);
        if (exponent == at) {
            return false;
        }
        at = exponent;
    }
    return at == text.size();
}

struct JsonBuffer {
    simdjson::ondemand::parser parser;
    std::string padded{};  // the document's copy; grows to the largest one and never shrinks
};

// What Visitor has. A function that returns false has set `fault`, and ends the walk.
//   Place: where a value goes; a small type, such as a pointer.
//   std::string fault: why the document is refused, without any of its text.
//   bool literal(Place, token): true, false, null, or a number as the document writes it.
//   void text(Place, text, bool escaped): a string; with escapes the view lasts one call, without
//     them it is a view of the padded copy.
//   void open(Place, char bracket): an object or an array begins.
//   bool member(Place object, name, Place& value)
//   Place element(Place array, position)
//   bool close(Place, char bracket, raw): raw() returns the whole container, in the padded copy.
template <class Visitor>
class JsonReader {
  public:
    using Place = typename Visitor::Place;

    JsonReader(JsonBuffer& buffer, Visitor& visitor) : buffer_(buffer), visitor_(visitor) {}
    // Reads the whole document; its outermost value goes to `root`. Returns what is wrong.
    std::optional<std::string> run(std::string_view document, Place root) {
        if (document.starts_with("\xef\xbb\xbf")) {  // some versions of simdjson pass over it
            return "it begins with a byte order mark";
        }
        std::string& padded = buffer_.padded;
        size_ = document.size();
        if (padded.size() < size_ + simdjson::SIMDJSON_PADDING) {
            padded.resize(size_ + simdjson::SIMDJSON_PADDING);
        }
        // DANGER: copy it. simdjson reads past the end, where librdkafka's payloads may be
        // unreadable.
        std::memcpy(padded.data(), document.data(), size_);
        std::memset(padded.data() + size_, 0, simdjson::SIMDJSON_PADDING);

        simdjson::ondemand::document json;
        const auto error = buffer_.parser.iterate(padded.data(), size_, padded.size()).get(json);
        if (error != simdjson::SUCCESS) return simdjson::error_message(error);
        if (!whole(json, root)) return std::move(visitor_.fault);
        return std::nullopt;
    }

  private:
    using Text = std::string_view;
    using Json = simdjson::ondemand::value;

    bool fail(std::string reason) {
        visitor_.fault = std::move(reason);
        return false;
    }
    bool fail(simdjson::error_code error) { return fail(simdjson::error_message(error)); }

    bool literal(Text token, Place place) {
        if (token == "true" || token == "false" || token == "null" || is_json_number(token)) {
            return visitor_.literal(place, token);
        }
        return fail("a value is not a string, number, true, false, null, object or array");
    }

    template <class Source>
    bool string(Source& source, Text token, Place place) {
        if (token.size() < 2 || token.back() != '"') return fail("a string does not end");
        const Text inner = token.substr(1, token.size() - 2);
        if (std::memchr(inner.data(), '\\', inner.size()) == nullptr) {
            // DANGER: simdjson takes an unread string before a colon for a member's name and skips
            // what follows, so `["x":1}` would pass as JSON.
            simdjson::ondemand::raw_json_string passed;
            if (const auto error = source.get_raw_json_string().get(passed)) return fail(error);
            visitor_.text(place, inner, false);
            return true;
        }
        Text unescaped;
        if (const auto error = source.get_string().get(unescaped)) return fail(error);
        visitor_.text(place, unescaped, true);
        return true;
    }

    bool name(simdjson::ondemand::field& field, Text& result) {
        const char* const begin = field.key().raw();
        const char* end = begin;
        while (*end != '"' && *end != '\\') {  // simdjson has seen the closing quote
            ++end;
        }
        if (*end == '"') {
            result = {begin, static_cast<std::size_t>(end - begin)};
            return true;
        }
        const auto error = field.unescaped_key().get(result);
        return error == simdjson::SUCCESS || fail(error);
    }

    bool object(Json& value, Place place, int depth) {
        simdjson::ondemand::object members;
        if (const auto error = value.get_object().get(members)) return fail(error);
        // What the iterator returns is used where it is: copies of it cost as much as the walk.
        for (auto step : members) {
            if (const auto error = step.error()) return fail(error);
            simdjson::ondemand::field& field = step.value_unsafe();
            Text member;
            if (!name(field, member)) return false;
            Place child{};
            if (!visitor_.member(place, member, child)) return false;
            if (!this->value(field.value(), child, depth)) return false;
        }
        return true;
    }

    bool array(Json& value, Place place, int depth) {
        simdjson::ondemand::array elements;
        if (const auto error = value.get_array().get(elements)) return fail(error);
        std::uint64_t position = 0;
        for (auto step : elements) {
            if (const auto error = step.error()) return fail(error);
            Json& element = step.value_unsafe();
            if (!this->value(element, visitor_.element(place, position), depth)) return false;
            ++position;
        }
        return true;
    }

    bool value(Json& value, Place place, int depth) {
        const Text token = trim_json_space(value.raw_json_token());
        const char first = token.empty() ? '\0' : token.front();
        if (first == '"') return string(value, token, place);
        if (first != '{' && first != '[') return literal(token, place);
        // DANGER: the walk recurses; a document of 10,000 open brackets would end the process.
        if (depth == json_depth_max) {
            return fail("objects and arrays are nested deeper than " +
                        std::to_string(json_depth_max));
        }
        visitor_.open(place, first);
        const bool read =
            first == '{' ? object(value, place, depth + 1) : array(value, place, depth + 1);
        return read && visitor_.close(place, first, [&] {
            // The walk is at the token after the container, or at the document's end.
            const char* end = nullptr;
            if (value.current_location().get(end) != simdjson::SUCCESS) {
                end = buffer_.padded.data() + size_;
            }
            return trim_json_space({token.data(), static_cast<std::size_t>(end - token.data())});
        });
    }

    bool whole(simdjson::ondemand::document& json, Place root) {
        Text token;
        if (const auto error = json.raw_json_token().get(token)) return fail(error);
        token = trim_json_space(token);
        if (token.empty()) return fail("it is empty");
        if (token.front() != '{' && token.front() != '[') {
            if (token.size() != trim_json_space({buffer_.padded.data(), size_}).size()) {
                return fail("something follows the document");
            }
            return token.front() == '"' ? string(json, token, root) : literal(token, root);
        }
        Json outermost;
        if (const auto error = json.get_value().get(outermost)) return fail(error);
        if (!value(outermost, root, 0)) return false;
        const char* rest = nullptr;
        return json.current_location().get(rest) != simdjson::SUCCESS ||
               fail("something follows the document");
    }

    JsonBuffer& buffer_;
    Visitor& visitor_;
    std::size_t size_ = 0;  // of the document
};

}  // namespace onceward
