#include "cli/configuration/values.h"

#include <algorithm>
#include <stdexcept>

#include "cli/configuration/units.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// The number, if it is within the option's limits.
template <class Number>
std::optional<OptionValue> in_range(Number number, const OptionSpec& spec, const Written& at) {
    const auto& [minimum, maximum] = spec.bind.limits;
    if (number >= static_cast<Number>(minimum) && number <= static_cast<Number>(maximum)) {
        return number;
    }
    std::string limits = "at least " + limit_text(spec, minimum);
    if (maximum != INT64_MAX) {
        limits = "between " + limit_text(spec, minimum) + " and " + limit_text(spec, maximum);
    }
    return at.refuse(" is out of range. Write " + limits + ".");
}

template <class Number>
std::optional<OptionValue> read_number(const std::string& kind, const OptionSpec& spec,
                                       const Written& at) {
    const std::string wanted = "a " + kind + ", such as " + spec.default_text;
    if (!at.scalar(wanted)) return std::nullopt;
    if (at.node.quoted) {
        return at.refuse(" is in quotes, which makes it a text. Write " + wanted + ".");
    }
    const std::optional<Number> number = number_of<Number>(at.node.text);
    if (!number) return at.refuse(" is no " + kind + ". Write " + wanted + ".");
    return in_range(*number, spec, at);
}

std::optional<OptionValue> read_with_unit(const OptionSpec& spec, const Written& at) {
    if (!at.scalar("a value with its unit, such as " + spec.default_text)) return std::nullopt;
    const bool size = spec.bind.type == OptionType::size;
    const auto time = parse_duration(at.node.text);
    const auto amount = size   ? parse_size(at.node.text)
                        : time ? std::optional<std::int64_t>(time->count())
                               : std::nullopt;
    if (amount) return in_range(*amount, spec, at);
    return at.refuse(size ? " is no size. " + size_advice(at.node.written)
                          : " is not a duration. " + duration_advice(at.node.written));
}

std::optional<OptionValue> read_hours(const Written& at) {
    const std::string wanted = "`HH:MM-HH:MM` in UTC, such as `01:00-05:00`";
    if (!at.scalar(wanted)) return std::nullopt;
    const std::optional<DailyHours> hours = parse_hours(at.node.text);
    if (hours) return *hours;
    return at.refuse(" are not hours of a day. Write " + wanted + ".");
}

std::optional<OptionValue> read_choice(const OptionSpec& spec, const Written& at) {
    const std::vector<std::string> names(spec.bind.choices.begin(), spec.bind.choices.end());
    if (!at.scalar(one_of(names))) return std::nullopt;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (names[index] == at.node.text) return Choice{index, spec.bind.choices[index]};
    }
    return at.refuse(" is not known here" + guess(at.node.written, names) + " Write " +
                     one_of(names) + ".");
}

std::optional<OptionValue> read_start(const Written& at) {
    const std::vector<std::string> words = {"committed", "earliest", "latest"};
    const std::string wanted = one_of(words) + " or a time such as `2026-01-31T12:00:00Z`";
    if (!at.scalar(wanted)) return std::nullopt;
    StartPosition start;
    const auto word = std::ranges::find(words, at.node.text);
    if (word != words.end()) {
        start.kind = static_cast<StartPosition::Kind>(word - words.begin());
        return start;
    }
    const auto time = parse_timestamp(at.node.text);
    if (!time) {
        return at.refuse(" is not a start position" + guess(at.node.written, words) + " Write " +
                         wanted + "; a time needs its zone.");
    }
    start.kind = StartPosition::Kind::timestamp;
    start.timestamp = *time;
    return start;
}

std::optional<OptionValue> read_properties(const Written& at) {
    if (at.node.kind != Node::Kind::mapping) {
        return at.refuse_kind(
            " is not a mapping of librdkafka's properties. Write a mapping, such as "
            "`security.protocol: SSL`.");
    }
    PropertyMap properties;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        const std::string& name = at.node.keys[index].name;
        const Written entry = at.entry(index);
        if (!entry.scalar("the property's value as a text or number")) continue;
        const std::string& text = entry.node.text;
        // If the text has other characters than a name, it may hold a value.
        const std::string shown_name = leading_name(name);
        std::string problem = shown_name == name
                                  ? refused_property(name, text)
                                  : "librdkafka has no property `" + shown_name + "`.";
        if (problem.empty()) problem = unknown_property(name, text);
        if (problem.empty()) {
            properties[name] = text;
            continue;
        }
        // The reason is shown only if it cannot repeat what a variable or a secret holds.
        const bool secret = text != entry.node.written || secret_property(name);
        if (secret && !text.empty() && problem.find(text) != std::string::npos) {
            problem = "librdkafka does not accept this value.";
        }
        at.report.error(at.node.keys[index].mark, entry.path, problem);
    }
    return properties;
}

std::optional<OptionValue> read_texts_by_name(const Written& at, const std::string& what) {
    PropertyMap texts;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        const Written entry = at.entry(index);
        if (!entry.scalar(what)) continue;
        texts[at.node.keys[index].name] = entry.node.text;
    }
    return texts;
}

std::optional<OptionValue> read_headers(const OptionSpec& spec, const Written& at) {
    if (at.node.kind != Node::Kind::mapping) {
        // Tokens have the names of people, not of headers.
        const std::string example = spec.path.ends_with(".tokens")
                                        ? "{alice: \"${ALICE_TOKEN}\"}"
                                        : "Authorization: Bearer ${TOKEN}";
        // The value is not shown: it may be meant as a secret.
        return at.error("This is not a mapping from names to values. Write one, such as `" +
                        example + "`.");
    }
    return read_texts_by_name(at, "a value");
}

std::optional<OptionValue> read_attributes(const Written& at) {
    if (at.node.kind != Node::Kind::mapping) {
        return at.refuse_kind(" is not a mapping. Write one, such as `service.namespace: shop`.");
    }
    return read_texts_by_name(at, "the attribute's value");
}

std::optional<OptionValue> read_text(const Written& at) {
    if (!at.scalar("a text")) return std::nullopt;
    if (!at.node.text.empty()) return at.node.text;
    return at.error("The value is empty. Write one, or remove the option.");
}

}  // namespace

std::string guess(const std::string& name, const std::vector<std::string>& known) {
    const std::string text = did_you_mean(name, known);
    return text.empty() ? "." : text;
}

std::string one_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (index > 0) text += index + 1 == names.size() ? " or " : ", ";
        text += "`" + names[index] + "`";
    }
    return text;
}

std::string shown(const Node& node) {
    switch (node.kind) {
        case Node::Kind::null: return "Nothing";
        case Node::Kind::sequence: return node.items.empty() ? "An empty list" : "A list";
        case Node::Kind::mapping: return node.items.empty() ? "An empty mapping" : "A mapping";
        case Node::Kind::scalar: break;
    }
    constexpr std::size_t longest = 60;
    if (node.written.size() > longest) return "`" + node.written.substr(0, longest) + "...`";
    return "`" + node.written + "`";
}

std::string shown_kind(const Node& node) {
    return node.kind == Node::Kind::scalar ? "This" : shown(node);
}

bool Written::scalar(const std::string& wanted) const {
    if (node.kind != Node::Kind::scalar) {
        refuse(" is not a value. Write " + wanted + ".");
        return false;
    }
    if (!node.resolved) report.unknown(path);
    return node.resolved;
}

Written Written::entry(std::size_t index) const {
    const bool list = node.kind == Node::Kind::sequence;
    const Node& item = node.items[index];
    const std::string name = list ? "[" + std::to_string(index) + "]" : "." + node.keys[index].name;
    report.locate(path + name, list ? item.mark : node.keys[index].mark);
    return {item, path + name, report};
}

std::string limit_text(const OptionSpec& spec, std::int64_t limit) {
    if (spec.bind.type == OptionType::duration) {
        return duration_text(std::chrono::milliseconds(limit));
    }
    return spec.bind.type == OptionType::size ? size_text(limit) : std::to_string(limit);
}

std::optional<std::vector<std::string>> read_texts(const Written& at) {
    if (at.node.kind != Node::Kind::sequence || at.node.items.empty()) {
        return at.refuse_kind(" is not a list. Write `[a, b]`, also for one.");
    }
    std::vector<std::string> texts;
    for (const Node& item : at.node.items) {
        if (!at.part(item).scalar("a text")) return std::nullopt;
        texts.push_back(item.text);
    }
    return texts;
}

std::optional<OptionValue> read_value(const OptionSpec& spec, const Written& at) {
    switch (spec.bind.type) {
        case OptionType::text:
        case OptionType::secret: return read_text(at);
        case OptionType::integer: return read_number<std::int64_t>("whole number", spec, at);
        case OptionType::number: return read_number<double>("number", spec, at);
        case OptionType::duration:
        case OptionType::size: return read_with_unit(spec, at);
        case OptionType::hours: return read_hours(at);
        case OptionType::choice: return read_choice(spec, at);
        case OptionType::texts: return read_texts(at);
        case OptionType::properties: return read_properties(at);
        case OptionType::headers: return read_headers(spec, at);
        case OptionType::attributes: return read_attributes(at);
        case OptionType::start: return read_start(at);
        case OptionType::key_sources: return read_key_sources(at);
        case OptionType::source: return read_source(at);
        case OptionType::columns: return read_columns(at);
        case OptionType::fingerprint: return read_fingerprint(at, whole_of(spec));
        case OptionType::minted: return read_minted(at);
    }
    return std::nullopt;
}

OptionValue default_value(const OptionSpec& spec) {
    Report report;
    const Node node{
        .kind = Node::Kind::scalar, .text = spec.default_text, .written = spec.default_text};
    std::optional<OptionValue> value = read_value(spec, {node, spec.path, report});
    if (!value) throw std::logic_error("no valid default: " + spec.path);
    return *value;
}

}  // namespace onceward
