// read_letter(): from the headers of another program's dead letter, or of one of ours.

#include <algorithm>
#include <array>
#include <vector>

#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"
#include "sinks/dead_letters/letter_header_names.h"
#include "sinks/dead_letters/letter_headers.h"

namespace onceward {
namespace {

using Headers = std::span<const Header>;
using Text = std::optional<std::string_view>;
using letter_names::Name;

// The last one counts, as for Kafka's own consumers. nullopt if there is none with a value.
Text last_value(Headers headers, Name name) {
    for (auto header = headers.rbegin(); header != headers.rend(); ++header) {
        if (header->name == name) return header->value;
    }
    return std::nullopt;
}

std::string text_or_none(Headers headers, Name name) {
    return std::string(last_value(headers, name).value_or(""));
}

template <class Number>
std::optional<Number> from_decimal(const Text& text) {
    return text ? number_of<Number>(*text) : std::nullopt;
}

std::optional<std::int32_t> from_four_bytes(const Text& bytes) {
    if (!bytes || bytes->size() != 4) return std::nullopt;
    return static_cast<std::int32_t>(binary::get32(*bytes));
}

std::optional<std::int64_t> from_eight_bytes(const Text& bytes) {
    if (!bytes || bytes->size() != 8) return std::nullopt;
    const std::uint64_t high = binary::get32(*bytes);
    return static_cast<std::int64_t>(high << 32 | binary::get32(bytes->substr(4)));
}

bool is_topic_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    return !name.empty() && name.size() <= 249 && std::ranges::all_of(name, fits);
}

// Why these do not name a place in Kafka; '' if they do, and then `origin` has it.
std::string read_place(const Text& topic, std::optional<std::int32_t> partition,
                       std::optional<std::int64_t> offset, LetterOrigin& origin) {
    if (!topic || !is_topic_name(*topic)) return "its headers name no topic";
    if (!partition || *partition < 0) return "its headers name no partition";
    if (!offset || *offset < 0) return "its headers name no offset";
    origin.topic = *topic;
    origin.partition = Partition{*partition};
    origin.offset = Offset{*offset};
    return "";
}

// What the headers of another program's style say of the exception. What we wrote in such a style
// has our kind as the exception's class, and the reason alone as its message.
void read_exception(const std::string& exception, const std::string& message, bool undecoded,
                    const std::string& who, ReadLetter& letter) {
    constexpr std::string_view ours = "onceward.";
    const std::string_view text = exception;
    const auto kind =
        text.starts_with(ours) ? rejection_kind(text.substr(ours.size())) : std::nullopt;
    letter.by_onceward = kind.has_value();
    letter.origin.kind =
        kind.value_or(undecoded ? Rejection::Kind::undecodable : Rejection::Kind::sink);
    const std::string said = exception + (message.empty() ? "" : ": ") + message;
    letter.origin.reason = kind ? message : who + ": " + said;
}

// Onceward and Kafka Connect write both numbers as text.
std::string read_decimal_place(Headers headers, Name topic, Name partition, Name offset,
                               LetterOrigin& origin) {
    return read_place(last_value(headers, topic),
                      from_decimal<std::int32_t>(last_value(headers, partition)),
                      from_decimal<std::int64_t>(last_value(headers, offset)), origin);
}

std::string read_own(Headers headers, ReadLetter& letter) {
    namespace name = letter_names::own;
    letter.by_onceward = true;
    LetterOrigin& origin = letter.origin;
    const std::string problem =
        read_decimal_place(headers, name::topic, name::partition, name::offset, origin);
    if (!problem.empty()) return problem;
    if (const auto time = from_decimal<std::int64_t>(last_value(headers, name::timestamp))) {
        origin.timestamp = std::chrono::milliseconds{*time};
    }
    origin.group = text_or_none(headers, name::group);
    origin.identity = text_or_none(headers, name::identity);
    origin.kind = rejection_kind(text_or_none(headers, name::kind)).value_or(origin.kind);
    origin.sqlstate = text_or_none(headers, name::sqlstate);
    origin.reason = text_or_none(headers, name::reason);
    origin.attempts = from_decimal<int>(last_value(headers, name::attempts)).value_or(1);
    if (const Text key = last_value(headers, name::key)) origin.key_text = std::string(*key);
    if (const Text digest = last_value(headers, name::digest)) origin.digest = parse_uuid(*digest);
    return "";
}

std::string read_connect(Headers headers, ReadLetter& letter) {
    namespace name = letter_names::connect;
    LetterOrigin& origin = letter.origin;
    const std::string problem =
        read_decimal_place(headers, name::topic, name::partition, name::offset, origin);
    if (!problem.empty()) return problem;
    origin.group = text_or_none(headers, name::connector);
    read_exception(text_or_none(headers, name::exception), text_or_none(headers, name::message),
                   text_or_none(headers, name::stage).ends_with("_CONVERTER"),
                   "Kafka Connect's " + origin.group, letter);
    return "";
}

std::string read_spring(Headers headers, ReadLetter& letter) {
    namespace name = letter_names::spring;
    LetterOrigin& origin = letter.origin;
    const std::string problem = read_place(
        last_value(headers, name::topic), from_four_bytes(last_value(headers, name::partition)),
        from_eight_bytes(last_value(headers, name::offset)), origin);
    if (!problem.empty()) return problem;
    const auto time = from_eight_bytes(last_value(headers, name::timestamp));
    if (time && *time >= 0) origin.timestamp = std::chrono::milliseconds{*time};
    origin.log_append_time = last_value(headers, name::timestamp_type) == "LogAppendTime";
    origin.group = text_or_none(headers, name::group);
    // A key that cannot be read has headers of its own.
    const bool of_value = last_value(headers, name::exception).has_value();
    const std::string exception =
        text_or_none(headers, of_value ? name::exception : name::key_exception);
    const std::string causes = exception + " " + text_or_none(headers, name::cause);
    read_exception(exception, text_or_none(headers, of_value ? name::message : name::key_message),
                   causes.find("erializationException") != std::string::npos,
                   "Spring's group " + origin.group, letter);
    return "";
}

struct Style {
    LetterStyle style;
    Name topic;
    std::span<const Name> before;  // those that come before the topic; the others follow it
    std::span<const Name> names;
    std::string (*read)(Headers headers, ReadLetter& letter);
};
constexpr std::array all_styles{
    Style{LetterStyle::onceward, letter_names::own::topic, {}, letter_names::own::all, read_own},
    Style{LetterStyle::connect,
          letter_names::connect::topic,
          {},
          letter_names::connect::all,
          read_connect},
    Style{LetterStyle::spring, letter_names::spring::topic, letter_names::spring::exceptions,
          letter_names::spring::all, read_spring}};

bool among(std::span<const Name> names, Name name) {
    return std::ranges::find(names, name) != names.end();
}

// Where the added headers begin, if their topic is at `topic`. What an earlier rejection added
// comes before them.
std::size_t begin_of(Headers headers, const Style& style, std::size_t topic) {
    while (topic > 0 && among(style.before, headers[topic - 1].name)) --topic;
    return topic;
}

// The headers without the last one of each of the style's names from `begin` on, and without the id
// that the outbox's relay appended. An id before `begin` is the message's own.
std::vector<Header> without_added(Headers headers, const Style& style, std::size_t begin) {
    std::vector<Header> kept;
    std::vector<Name> gone;
    for (std::size_t at = headers.size(); at-- > 0;) {
        const Name name = headers[at].name;
        const bool added = at >= begin && (among(style.names, name) || name == outbox_id_header);
        if (added && !among(gone, name)) {
            gone.push_back(name);
        } else {
            kept.push_back(headers[at]);
        }
    }
    std::ranges::reverse(kept);
    return kept;
}

}  // namespace

std::variant<ReadLetter, std::string> read_letter(std::span<const Header> headers) {
    for (std::size_t at = headers.size(); at-- > 0;) {
        const auto style = std::ranges::find(all_styles, headers[at].name, &Style::topic);
        if (style == all_styles.end()) continue;
        const std::size_t begin = begin_of(headers, *style, at);
        ReadLetter letter{.style = style->style, .origin = {}, .headers = {}};
        std::string problem = style->read(headers.subspan(begin), letter);
        if (!problem.empty()) return problem;
        letter.headers = without_added(headers, *style, begin);
        return letter;
    }
    return "it has no header of Onceward, Kafka Connect or Spring that says where it came from";
}

}  // namespace onceward
