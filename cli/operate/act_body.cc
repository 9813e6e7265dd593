#include "cli/operate/act_body.h"

#include <algorithm>

namespace onceward {
namespace {

[[noreturn]] void refuse(const char* name, const char* wanted) {
    throw ActRefused(400, "`" + std::string(name) + "` has to be " + wanted + ".");
}

bool is_full_text(const nlohmann::json& value) {
    return value.is_string() && !value.get_ref<const nlohmann::json::string_t&>().empty();
}

}  // namespace

ActBody::ActBody(const std::string& text)
    : json_(nlohmann::json::parse(text.empty() ? "{}" : text, nullptr, false)) {
    if (!json_.is_object()) throw ActRefused(400, "The body has to be a JSON object.");
}

const nlohmann::json* ActBody::find(const char* name) {
    read_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
}

std::string ActBody::text(const char* name) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(name, "a text");
    if (!is_full_text(*value)) refuse(name, "a text that is not empty, or left out");
    return value->get<std::string>();
}

std::string ActBody::needed(const char* name) {
    const nlohmann::json* value = find(name);
    if (value == nullptr || !is_full_text(*value)) refuse(name, "a text that is not empty");
    return value->get<std::string>();
}

bool ActBody::flag(const char* name, bool otherwise) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(name, "true or false");
    return value->get<bool>();
}

std::int64_t ActBody::number(const char* name, std::int64_t otherwise, std::int64_t most) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return otherwise;
    const bool whole = value->is_number_integer() && *value >= 1 && *value <= most;
    if (!whole) refuse(name, ("a whole number from 1 to " + std::to_string(most)).c_str());
    return value->get<std::int64_t>();
}

std::optional<double> ActBody::rate(const char* name) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || value->get<double>() <= 0) refuse(name, "a number above 0");
    return value->get<double>();
}

std::vector<std::string> ActBody::texts(const char* name) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return {};
    const bool texts =
        value->is_array() && !value->empty() && std::ranges::all_of(*value, is_full_text);
    if (!texts) refuse(name, "a list of texts, one at least and none of them empty, or left out");
    return value->get<std::vector<std::string>>();
}

std::vector<std::int64_t> ActBody::numbers(const char* name) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return {};
    const auto is_number = [](const nlohmann::json& one) { return one.is_number_integer(); };
    if (!value->is_array() || value->empty() || !std::ranges::all_of(*value, is_number)) {
        refuse(name, "a list of whole numbers, one at least, or left out");
    }
    return value->get<std::vector<std::int64_t>>();
}

void ActBody::end() const {
    for (const auto& [name, value] : json_.items()) {
        if (!read_.contains(name)) throw ActRefused(400, "There is no `" + name + "` here.");
    }
}

std::string ActBody::line() const {
    return json_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace onceward
