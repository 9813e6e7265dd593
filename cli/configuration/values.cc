#include "cli/configuration/values.h"

#include <charconv>
#include <stdexcept>

#include "cli/configuration/units.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
    return {views.begin(), views.end()};
}

template <class Number>
std::optional<Number> whole(const std::string& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// Reads a number in its unit and compares it with the limits; `text_of` writes a limit.
template <class Amount, class TextOf>
bool in_range(Amount amount, const OptionSpec& spec, const Node& node, const std::string& path,
              Report& report, TextOf text_of) {
    if (amount >= static_cast<Amount>(spec.minimum) &&
        amount <= static_cast<Amount>(spec.maximum)) {
        return true;
    }
    std::string limits = "at least " + text_of(spec.minimum);
    if (spec.maximum != INT64_MAX) {
        limits = "between " + text_of(spec.minimum) + " and " + text_of(spec.maximum);
    }
    report.error(node.mark, path, shown(node) + " is out of range. Write " + limits + ".");
    return false;
}

std::string number_text(std::int64_t number) { return std::to_string(number); }
std::string milliseconds_text(std::int64_t count) {
    return duration_text(std::chrono::milliseconds(count));
}

std::optional<OptionValue> read_number(const OptionSpec& spec, const Node& node,
                                       const std::string& path, Report& report) {
    const bool is_integer = spec.type == OptionType::integer;
    const std::string wanted = is_integer
                                   ? "a whole number, such as " + std::string(spec.default_text)
                                   : "a number, such as " + std::string(spec.default_text);
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    OptionValue value;
    const std::optional<std::int64_t> integer = whole<std::int64_t>(node.text);
    const std::optional<double> real = whole<double>(node.text);
    if (node.quoted || (is_integer ? !integer : !real)) {
        report.error(
            node.mark, path,
            shown(node) +
                (node.quoted ? " is in quotes, which makes it a text"
                             : " is no " + std::string(is_integer ? "whole number" : "number")) +
                ". Write " + wanted + ".");
        return std::nullopt;
    }
    value.integer = integer.value_or(0);
    value.number = real.value_or(0);
    const bool fits = is_integer ? in_range(value.integer, spec, node, path, report, number_text)
                                 : in_range(value.number, spec, node, path, report, number_text);
    return fits ? std::optional(value) : std::nullopt;
}

std::optional<OptionValue> read_amount(const OptionSpec& spec, const Node& node,
                                       const std::string& path, Report& report) {
    const std::string wanted = "a value with its unit, such as " + std::string(spec.default_text);
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    OptionValue value;
    if (spec.type == OptionType::duration) {
        const auto duration = parse_duration(node.text);
        if (!duration) {
            report.error(node.mark, path,
                         shown(node) + " is not a duration. " + duration_advice(node.written));
            return std::nullopt;
        }
        value.duration = *duration;
        const bool fits = in_range(duration->count(), spec, node, path, report, milliseconds_text);
        return fits ? std::optional(value) : std::nullopt;
    }
    const auto size = parse_size(node.text);
    if (!size) {
        report.error(node.mark, path, shown(node) + " is no size. " + size_advice(node.written));
        return std::nullopt;
    }
    value.integer = *size;
    return in_range(*size, spec, node, path, report, size_text) ? std::optional(value)
                                                                : std::nullopt;
}

std::optional<OptionValue> read_hours(const Node& node, const std::string& path, Report& report) {
    const std::string wanted = "`HH:MM-HH:MM` in UTC, such as `01:00-05:00`";
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    OptionValue value;
    const std::optional<DailyHours> hours = parse_hours(node.text);
    if (!hours) {
        report.error(node.mark, path,
                     shown(node) + " are not hours of a day. Write " + wanted + ".");
        return std::nullopt;
    }
    value.hours = *hours;
    return value;
}

std::optional<OptionValue> read_choice(const OptionSpec& spec, const Node& node,
                                       const std::string& path, Report& report) {
    const std::vector<std::string> names = strings(spec.choices);
    if (!expect_scalar(node, path, one_of(names), report)) return std::nullopt;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (names[index] != node.text) continue;
        OptionValue value;
        value.choice = index;
        return value;
    }
    report.error(node.mark, path,
                 shown(node) + " is not known here" + guess(node.written, names) + " Write " +
                     one_of(names) + ".");
    return std::nullopt;
}

std::optional<OptionValue> read_start(const Node& node, const std::string& path, Report& report) {
    const std::vector<std::string> words = {"committed", "earliest", "latest"};
    const std::string wanted = one_of(words) + " or a time such as `2026-01-31T12:00:00Z`";
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    OptionValue value;
    for (std::size_t index = 0; index < words.size(); ++index) {
        if (words[index] != node.text) continue;
        value.start.kind = static_cast<StartPosition::Kind>(index);
        return value;
    }
    const auto time = parse_timestamp(node.text);
    if (!time) {
        report.error(node.mark, path,
                     shown(node) + " is not a start position" + guess(node.written, words) +
                         " Write " + wanted + "; a time needs its zone.");
        return std::nullopt;
    }
    value.start.kind = StartPosition::Kind::timestamp;
    value.start.timestamp = *time;
    return value;
}

std::optional<OptionValue> read_properties(const Node& node, const std::string& path,
                                           Report& report) {
    if (node.kind != Node::Kind::mapping) {
        report.error(node.mark, path,
                     shown(node) +
                         " is not a mapping of librdkafka's properties. Write a mapping, such as "
                         "`security.protocol: SSL`.");
        return std::nullopt;
    }
    OptionValue value;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const Node& item = node.items[index];
        const std::string& name = node.keys[index].name;
        const std::string item_path = path + "." + name;
        report.locate(item_path, node.keys[index].mark);
        if (!expect_scalar(item, item_path, "the property's value as a text or number", report)) {
            continue;
        }
        std::string problem = refused_property(name, item.text);
        if (problem.empty()) problem = unknown_property(name, item.text);
        if (!problem.empty()) {
            // The reason is shown only where it cannot repeat what a variable or a secret holds.
            const bool secret = item.text != item.written || secret_property(name);
            if (secret && !item.text.empty() && problem.find(item.text) != std::string::npos) {
                problem = "librdkafka does not accept this value.";
            }
            report.error(node.keys[index].mark, item_path, problem);
            continue;
        }
        value.properties[name] = item.text;
    }
    return value;
}

std::optional<OptionValue> read_headers(const Node& node, const std::string& path, Report& report) {
    if (node.kind != Node::Kind::mapping) {
        // Not shown: it may be meant for a secret.
        report.error(node.mark, path,
                     "These are not headers. Write a mapping, such as `Authorization: Bearer "
                     "${TOKEN}`.");
        return std::nullopt;
    }
    OptionValue value;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const std::string item_path = path + "." + node.keys[index].name;
        report.locate(item_path, node.keys[index].mark);
        if (!expect_scalar(node.items[index], item_path, "the header's value", report)) continue;
        value.properties[node.keys[index].name] = node.items[index].text;
    }
    return value;
}

template <class Part>
std::optional<OptionValue> with(Part OptionValue::*member, std::optional<Part> part) {
    if (!part) return std::nullopt;
    OptionValue value;
    value.*member = std::move(*part);
    return value;
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

bool expect_scalar(const Node& node, const std::string& path, const std::string& wanted,
                   Report& report) {
    if (node.kind != Node::Kind::scalar) {
        report.error(node.mark, path,
                     shown(node) + " is not a value. Write " + wanted + ".");
        return false;
    }
    if (!node.resolved) {
        report.unknown(path);
        return false;
    }
    return true;
}

std::optional<std::vector<std::string>> read_texts(const Node& node, const std::string& path,
                                                   Report& report) {
    if (node.kind != Node::Kind::sequence || node.items.empty()) {
        report.error(node.mark, path,
                     shown(node) + " is not a list. Write `[a, b]`, also for one.");
        return std::nullopt;
    }
    std::vector<std::string> texts;
    for (const Node& item : node.items) {
        if (!expect_scalar(item, path, "a text", report)) return std::nullopt;
        texts.push_back(item.text);
    }
    return texts;
}

std::optional<OptionValue> read_value(const OptionSpec& spec, const Node& node,
                                      const std::string& path, Report& report) {
    switch (spec.type) {
        case OptionType::text:
        case OptionType::secret: {
            if (!expect_scalar(node, path, "a text", report)) return std::nullopt;
            if (node.text.empty()) {
                report.error(node.mark, path,
                             "The value is empty. Write one, or remove the option.");
                return std::nullopt;
            }
            OptionValue value;
            value.text = node.text;
            return value;
        }
        case OptionType::integer:
        case OptionType::number: return read_number(spec, node, path, report);
        case OptionType::duration:
        case OptionType::size: return read_amount(spec, node, path, report);
        case OptionType::hours: return read_hours(node, path, report);
        case OptionType::choice: return read_choice(spec, node, path, report);
        case OptionType::texts: return with(&OptionValue::texts, read_texts(node, path, report));
        case OptionType::properties: return read_properties(node, path, report);
        case OptionType::headers: return read_headers(node, path, report);
        case OptionType::start: return read_start(node, path, report);
        case OptionType::key_sources:
            return with(&OptionValue::key_sources, read_key_sources(node, path, report));
        case OptionType::source: return with(&OptionValue::source, read_source(node, path, report));
        case OptionType::columns:
            return with(&OptionValue::columns, read_columns(node, path, report));
        case OptionType::fingerprint:
            return with(&OptionValue::fingerprint, read_fingerprint(node, path, report));
    }
    return std::nullopt;
}

OptionValue default_value(const OptionSpec& spec) {
    Report report;
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = node.written = spec.default_text;
    std::optional<OptionValue> value = read_value(spec, node, std::string(spec.path), report);
    if (!value) throw std::logic_error("no valid default: " + std::string(spec.path));
    return *value;
}

}  // namespace onceward
