// What a column's mapping says of conversions: `convert`, `default` and `lossy`.

#include <algorithm>

#include "cli/configuration/values.h"
#include "dedup/base/text.h"
#include "sinks/columns/decimal.h"

namespace onceward {
namespace {

using StepKind = Conversion::Kind;

constexpr const char* step_help =
    "a conversion, such as `trim`, `{base64_decimal: {scale: 2}}`, `{cast: integer}` or `{map: {a: "
    "active}, otherwise: unknown}`";

template <std::size_t size>
std::vector<std::string> names_in(const std::array<std::string_view, size>& names) {
    return {names.begin(), names.end()};
}

// A constant as YAML means it: in quotes it is a text.
std::optional<ConstantValue> read_constant(const Written& at, bool null_allowed) {
    if (at.node.kind == Node::Kind::null && null_allowed) {
        return ConstantValue{Value::Kind::null, ""};
    }
    if (!at.scalar("a text, a number, `true` or `false`")) return std::nullopt;
    ConstantValue constant{Value::Kind::text, at.node.text};
    if (at.node.quoted) return constant;
    const std::string& text = constant.text;
    const bool digit = !text.empty() && text.back() >= '0' && text.back() <= '9';
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    // As JSON has it: no plus, and no zeros before other digits.
    const bool plain = text.size() > first && text[first] >= '0' && text[first] <= '9' &&
                       (text[first] != '0' || text.size() == first + 1 ||
                        text[first + 1] == '.' || lower_case(text)[first + 1] == 'e');
    if (text == "true" || text == "false") {
        constant.kind = Value::Kind::boolean;
    } else if (plain && digit && parse_decimal(text)) {
        constant.kind = Value::Kind::number;
    }
    return constant;
}

bool read_scale(const Written& at, Conversion& step) {
    constexpr int most = 1000;
    const Node* const scale = at.node.items.size() == 1 ? at.node.find("scale") : nullptr;
    const auto digits = scale != nullptr && scale->kind == Node::Kind::scalar
                            ? number_of<int>(scale->text)
                            : std::nullopt;
    if (!digits || *digits < -most || *digits > most) {
        at.error("The scale is missing: how many of the digits follow the point. Write "
                 "`{base64_decimal: {scale: 2}}`, with -1000 to 1000.");
        return false;
    }
    step.scale = *digits;
    return true;
}

bool read_cast(const Written& at, Conversion& step) {
    const std::vector<std::string> names = names_in(cast_names);
    if (!at.scalar(one_of(names))) return false;
    const auto name = std::ranges::find(names, at.node.text);
    if (name == names.end()) {
        at.refuse(" is not a type to cast to" + guess(at.node.written, names) + " Write " +
                  one_of(names) + ".");
        return false;
    }
    step.cast = static_cast<CastTarget>(name - names.begin());
    return true;
}

bool read_map(const Written& at, Conversion& step) {
    if (at.node.kind != Node::Kind::mapping || at.node.items.empty()) {
        at.refuse_kind(
            " is not a mapping. Write one from each value to what it becomes, such as `{a: active, "
            "i: inactive}`.");
        return false;
    }
    bool good = true;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        const auto constant = read_constant(at.part(at.node.items[index]), true);
        good = good && constant.has_value();
        if (constant) step.map.emplace(at.node.keys[index].name, *constant);
    }
    return good;
}

std::optional<Conversion> named_step(const std::string& name, const Written& at) {
    const std::vector<std::string> names = names_in(conversion_names);
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
        return at.error("`" + name + "` is not a conversion" + guess(name, names) + " Known are " +
                        one_of(names) + ".");
    }
    Conversion step;
    step.kind = static_cast<StepKind>(found - names.begin());
    return step;
}

std::nullopt_t no_argument(const Conversion& step, const Written& at) {
    return at.error("`" + std::string(name_of(step)) + "` has no argument. Write its name alone.");
}

// `{cast: integer}` and the like.
std::optional<Conversion> read_step_with_argument(const Written& at) {
    const Node* const otherwise = at.node.find("otherwise");
    const std::size_t wanted = otherwise != nullptr ? 2 : 1;
    if (at.node.items.size() != wanted) {
        return at.error("A conversion has one name. Write each as an entry of a list: `convert: "
                        "[trim, {cast: integer}]`.");
    }
    const std::size_t index = at.node.keys[0].name == "otherwise" ? 1 : 0;
    auto step = named_step(at.node.keys[index].name, at);
    if (!step) return std::nullopt;
    const Written argument = at.part(at.node.items[index]);
    if (otherwise != nullptr && step->kind != StepKind::map) {
        return at.error("`otherwise` belongs to a `map`: what becomes of a value that it lacks.");
    }
    bool good = true;
    if (otherwise != nullptr) {
        step->otherwise = read_constant(at.part(*otherwise), true);
        good = step->otherwise.has_value();
    }
    switch (step->kind) {
        case StepKind::base64_decimal: good = read_scale(argument, *step) && good; break;
        case StepKind::cast: good = read_cast(argument, *step) && good; break;
        case StepKind::map: good = read_map(argument, *step) && good; break;
        default: return no_argument(*step, at);
    }
    return good ? step : std::nullopt;
}

std::optional<Conversion> read_step(const Written& at) {
    if (at.node.kind == Node::Kind::mapping) return read_step_with_argument(at);
    if (!at.scalar(step_help)) return std::nullopt;
    auto step = named_step(at.node.text, at);
    if (!step) return std::nullopt;
    const bool argument = step->kind == StepKind::base64_decimal || step->kind == StepKind::cast ||
                          step->kind == StepKind::map;
    if (!argument) return step;
    return at.error("`" + at.node.text + "` needs to know more. Write " + step_help + ".");
}

bool read_steps(const Written& at, std::vector<Conversion>& steps) {
    const bool list = at.node.kind == Node::Kind::sequence;
    if (list && at.node.items.empty()) {
        at.error(std::string("The list is empty. Write ") + step_help + ", or remove `convert`.");
        return false;
    }
    bool good = true;
    const std::size_t count = list ? at.node.items.size() : 1;
    for (std::size_t index = 0; index < count; ++index) {
        auto step = read_step(list ? at.part(at.node.items[index]) : at);
        good = good && step.has_value();
        if (step) steps.push_back(std::move(*step));
    }
    return good;
}

bool read_lossy(const Written& at, Lossy& lossy) {
    const std::vector<std::string> names = names_in(lossy_names);
    if (!at.scalar(one_of(names))) return false;
    const auto name = std::ranges::find(names, at.node.text);
    if (name == names.end()) {
        at.refuse(" is not known here" + guess(at.node.written, names) + " Write " +
                  one_of(names) + ".");
        return false;
    }
    lossy = static_cast<Lossy>(name - names.begin());
    return true;
}

}  // namespace

bool read_conversion(const std::string& option, const Written& at, ColumnConversion& conversion) {
    if (option == "convert") return read_steps(at, conversion.steps);
    if (option == "lossy") return read_lossy(at, conversion.lossy);
    conversion.fallback = read_constant(at, false);
    return conversion.fallback.has_value();
}

}  // namespace onceward
