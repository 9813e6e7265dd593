#include "cli/plan/consequence.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dedup/base/text.h"

namespace onceward {

std::string_view to_text(Consequence::Level level) {
    switch (level) {
        case Consequence::Level::nothing: return "nothing";
        case Consequence::Level::safe: return "safe";
        case Consequence::Level::restart: return "restart";
        case Consequence::Level::danger: return "danger";
    }
    return "";
}

Consequence::Level worst(const std::vector<Consequence>& consequences) {
    Consequence::Level level = Consequence::Level::nothing;
    for (const Consequence& one : consequences) level = std::max(level, one.level);
    return level;
}

std::string line_of(const Consequence& one) {
    std::string line(to_text(one.level));
    line += ": ";
    if (!one.topic.empty()) line += "topic " + safe_value(one.topic) + ": ";
    if (!one.option.empty()) line += one.option + ": ";
    line += safe_value(one.text);
    if (!one.instead.empty()) line += ". Instead: " + safe_value(one.instead);
    return line + ".";
}

nlohmann::ordered_json json_of(const Consequence& one) {
    return {{"level", to_text(one.level)}, {"reloads", one.reloads}, {"topic", one.topic},
            {"option", one.option},        {"text", one.text},       {"instead", one.instead}};
}

}  // namespace onceward
