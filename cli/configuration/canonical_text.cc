// The value of an option in one form, so that two files are compared by what they mean.

#include <nlohmann/json.hpp>

#include "cli/configuration/values.h"

namespace onceward {
namespace {

using nlohmann::json;

json form(const std::string& text) { return text; }
json form(std::int64_t number) { return number; }
json form(double number) { return number; }
json form(const Choice& choice) { return std::string(choice.name); }
json form(const std::vector<std::string>& texts) { return texts; }
json form(const FieldSource& source) { return json::array({source.kind, source.text}); }
json form(const MintedSource& source) { return json::array({source.kind, source.name}); }

json form(const DailyHours& hours) { return json::array({hours.begin.count(), hours.end.count()}); }
json form(const StartPosition& start) { return json::array({start.kind, start.timestamp.count()}); }
json form(const FingerprintOptions& fingerprint) {
    return json::array({fingerprint.of, fingerprint.fields});
}

json form(const PropertyMap& properties) {
    json object = json::object();
    for (const auto& [name, value] : properties) object[name] = value.reveal();
    return object;
}

json form(const std::vector<KeySource>& sources) {
    json list = json::array();
    for (const KeySource& source : sources) {
        list.push_back(json::array({source.kind, source.name, source.strip_quotes,
                                    source.kind_name, source.only_json, source.names}));
    }
    return list;
}

json form(const std::optional<ConstantValue>& constant) {
    return constant ? json::array({constant->kind, constant->text}) : json();
}

json form(const ColumnConversion& conversion) {
    json steps = json::array();
    for (const Conversion& step : conversion.steps) {
        json map = json::object();
        for (const auto& [from, to] : step.map) map[from] = form(std::optional(to));
        steps.push_back(
            json::array({step.kind, step.scale, step.cast, map, form(step.otherwise)}));
    }
    return json::array({steps, form(conversion.fallback), conversion.lossy});
}

json form(const std::vector<ColumnOptions>& columns) {
    json list = json::array();
    for (const ColumnOptions& column : columns) {
        list.push_back(json::array({column.name, form(column.source), column.required,
                                    form(column.conversion)}));
    }
    return list;
}

}  // namespace

Secret canonical_text(const OptionValue& value) {
    const json made = std::visit([](const auto& one) { return form(one); }, value);
    return made.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace onceward
