#include "cli/proposal/type_choice.h"

#include <utility>

#include "dedup/base/expects.h"
#include "sinks/columns/convert.h"
#include "sinks/columns/declared_table.h"

namespace onceward {
namespace {

std::string step_text(const Conversion& step) {
    const std::string name(name_of(step));
    expects(step.kind != Conversion::Kind::map, "what a map holds cannot be guessed");
    if (step.kind == Conversion::Kind::base64_decimal) {
        return "{" + name + ": {scale: " + std::to_string(step.scale) + "}}";
    }
    if (step.kind == Conversion::Kind::cast) {
        return "{" + name + ": " + std::string(cast_names[static_cast<std::size_t>(step.cast)]) +
               "}";
    }
    return name;
}

// PostgreSQL's jsonb refuses a NUL, which JSON can write; the encoder leaves that to the server.
bool has_escaped_nul(const Value& value) {
    return (value.kind == Value::Kind::json &&
            value.text.find("\\u0000") != std::string_view::npos) ||
           (value.kind == Value::Kind::text && value.text.find('\0') != std::string_view::npos);
}

}  // namespace

std::string steps_text(const std::vector<Conversion>& steps) {
    if (steps.size() == 1) return step_text(steps.front());
    std::string text;
    for (const Conversion& step : steps) text += (text.empty() ? "[" : ", ") + step_text(step);
    return text.empty() ? "" : text + "]";
}

TypeTrial::TypeTrial(TypeChoice choice, Provenance provenance)
    : choice_(std::move(choice)),
      provenance_(provenance),
      type_(declared_type(choice_.type)),
      conversion_{.steps = choice_.steps} {}

bool TypeTrial::takes(const Value& value) {
    if (value.kind == Value::Kind::absent || value.kind == Value::Kind::null) return true;
    Value converted = value;
    Provenance provenance = provenance_;
    if (conversion_.changes_values() &&
        !convert(conversion_, type_.kind, converted, provenance).empty()) {
        return false;
    }
    if (type_.kind == TypeKind::jsonb && has_escaped_nul(converted)) return false;
    room_.clear();
    return append_value(converted, type_, provenance, room_).empty();
}

}  // namespace onceward
