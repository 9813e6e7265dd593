#include "cli/configuration/values.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "cli/configuration/units.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

template <class Number>
std::optional<Number> whole(const std::string& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// Compares a number with the option's limits.
template <class Amount>
bool in_range(Amount amount, const OptionSpec& spec, const Node& node, const std::string& path,
              Report& report) {
    const auto& [minimum, maximum] = spec.bind.limits;
    if (amount >= static_cast<Amount>(minimum) && amount <= static_cast<Amount>(maximum)) {
        return true;
    }
    std::string limits = "at least " + limit_text(spec, minimum);
    if (maximum != INT64_MAX) {
        limits = "between " + limit_text(spec, minimum) + " and " + limit_text(spec, maximum);
    }
    report.error(node.mark, path, shown(node) + " is out of range. Write " + limits + ".");
    return false;
}

template <class Number>
std::optional<OptionValue> read_number(const std::string& kind, const OptionSpec& spec,
                                       const Node& node, const std::string& path, Report& report) {
    const std::string wanted = "a " + kind + ", such as " + std::string(spec.default_text);
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    const std::optional<Number> number = whole<Number>(node.text);
    if (node.quoted || !number) {
        const std::string why =
            node.quoted ? " is in quotes, which makes it a text" : " is no " + kind;
        return report.error(node.mark, path, shown(node) + why + ". Write " + wanted + ".");
    }
    if (!in_range(*number, spec, node, path, report)) return std::nullopt;
    return *number;
}

std::optional<OptionValue> read_amount(const OptionSpec& spec, const Node& node,
                                       const std::string& path, Report& report) {
    const std::string wanted = "a value with its unit, such as " + std::string(spec.default_text);
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    if (spec.bind.type == OptionType::duration) {
        const auto duration = parse_duration(node.text);
        if (!duration) {
            return report.error(
                node.mark, path,
                shown(node) + " is not a duration. " + duration_advice(node.written));
        }
        if (!in_range(duration->count(), spec, node, path, report)) return std::nullopt;
        return *duration;
    }
    const auto size = parse_size(node.text);
    if (!size) {
        return report.error(node.mark, path,
                            shown(node) + " is no size. " + size_advice(node.written));
    }
    if (!in_range(*size, spec, node, path, report)) return std::nullopt;
    return *size;
}

std::optional<OptionValue> read_hours(const Node& node, const std::string& path, Report& report) {
    const std::string wanted = "`HH:MM-HH:MM` in UTC, such as `01:00-05:00`";
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    const std::optional<DailyHours> hours = parse_hours(node.text);
    if (hours) return *hours;
    return report.error(node.mark, path,
                        shown(node) + " are not hours of a day. Write " + wanted + ".");
}

std::optional<OptionValue> read_choice(const OptionSpec& spec, const Node& node,
                                       const std::string& path, Report& report) {
    const std::vector<std::string> names(spec.bind.choices.begin(), spec.bind.choices.end());
    if (!expect_scalar(node, path, one_of(names), report)) return std::nullopt;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (names[index] == node.text) return Choice{index, spec.bind.choices[index]};
    }
    return report.error(node.mark, path,
                        shown(node) + " is not known here" + guess(node.written, names) +
                            " Write " + one_of(names) + ".");
}

std::optional<OptionValue> read_start(const Node& node, const std::string& path, Report& report) {
    const std::vector<std::string> words = {"committed", "earliest", "latest"};
    const std::string wanted = one_of(words) + " or a time such as `2026-01-31T12:00:00Z`";
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    StartPosition start;
    const auto word = std::ranges::find(words, node.text);
    if (word != words.end()) {
        start.kind = static_cast<StartPosition::Kind>(word - words.begin());
        return start;
    }
    const auto time = parse_timestamp(node.text);
    if (!time) {
        return report.error(node.mark, path,
                            shown(node) + " is not a start position" + guess(node.written, words) +
                                " Write " + wanted + "; a time needs its zone.");
    }
    start.kind = StartPosition::Kind::timestamp;
    start.timestamp = *time;
    return start;
}

std::optional<OptionValue> read_properties(const Node& node, const std::string& path,
                                           Report& report) {
    if (node.kind != Node::Kind::mapping) {
        return report.error(node.mark, path,
                            shown(node) +
                                " is not a mapping of librdkafka's properties. Write a mapping, "
                                "such as `security.protocol: SSL`.");
    }
    PropertyMap properties;
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
        if (problem.empty()) {
            properties[name] = item.text;
            continue;
        }
        // The reason is shown only where it cannot repeat what a variable or a secret holds.
        const bool secret = item.text != item.written || secret_property(name);
        if (secret && !item.text.empty() && problem.find(item.text) != std::string::npos) {
            problem = "librdkafka does not accept this value.";
        }
        report.error(node.keys[index].mark, item_path, problem);
    }
    return properties;
}

std::optional<OptionValue> read_headers(const Node& node, const std::string& path, Report& report) {
    if (node.kind != Node::Kind::mapping) {
        // Not shown: it may be meant for a secret.
        return report.error(
            node.mark, path,
            "These are not headers. Write a mapping, such as `Authorization: Bearer ${TOKEN}`.");
    }
    PropertyMap headers;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const std::string item_path = path + "." + node.keys[index].name;
        report.locate(item_path, node.keys[index].mark);
        if (!expect_scalar(node.items[index], item_path, "the header's value", report)) continue;
        headers[node.keys[index].name] = node.items[index].text;
    }
    return headers;
}

std::optional<OptionValue> read_text(const Node& node, const std::string& path, Report& report) {
    if (!expect_scalar(node, path, "a text", report)) return std::nullopt;
    if (!node.text.empty()) return node.text;
    return report.error(node.mark, path, "The value is empty. Write one, or remove the option.");
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
        report.error(node.mark, path, shown(node) + " is not a value. Write " + wanted + ".");
        return false;
    }
    if (!node.resolved) {
        report.unknown(path);
        return false;
    }
    return true;
}

std::string limit_text(const OptionSpec& spec, std::int64_t limit) {
    if (spec.bind.type == OptionType::duration) {
        return duration_text(std::chrono::milliseconds(limit));
    }
    return spec.bind.type == OptionType::size ? size_text(limit) : std::to_string(limit);
}

std::optional<std::vector<std::string>> read_texts(const Node& node, const std::string& path,
                                                   Report& report) {
    if (node.kind != Node::Kind::sequence || node.items.empty()) {
        return report.error(node.mark, path,
                            shown(node) + " is not a list. Write `[a, b]`, also for one.");
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
    switch (spec.bind.type) {
        case OptionType::text:
        case OptionType::secret: return read_text(node, path, report);
        case OptionType::integer:
            return read_number<std::int64_t>("whole number", spec, node, path, report);
        case OptionType::number: return read_number<double>("number", spec, node, path, report);
        case OptionType::duration:
        case OptionType::size: return read_amount(spec, node, path, report);
        case OptionType::hours: return read_hours(node, path, report);
        case OptionType::choice: return read_choice(spec, node, path, report);
        case OptionType::texts: return read_texts(node, path, report);
        case OptionType::properties: return read_properties(node, path, report);
        case OptionType::headers: return read_headers(node, path, report);
        case OptionType::start: return read_start(node, path, report);
        case OptionType::key_sources: return read_key_sources(node, path, report);
        case OptionType::source: return read_source(node, path, report);
        case OptionType::columns: return read_columns(node, path, report);
        case OptionType::fingerprint: return read_fingerprint(node, path, report);
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
