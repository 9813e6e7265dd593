#pragma once
// The form of the cases in inbox/cases.json, which every package of the inbox plays. Values; what
// is not as expected is a std::exception.

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "inbox/cpp/uuid.h"

namespace onceward::pqxx {

using Json = nlohmann::json;

// The whole file.
const Json& cases();

// A text, or bytes in hex, or a text so many times.
std::string key_of(const Json& key);
// As in 2026-01-02T03:04:05.678901Z; nullopt for null.
std::optional<Time> time_of(const Json& text);

// A step of a case. It remembers which members were asked for: one that was not is a check that the
// player skips.
class Step {
  public:
    explicit Step(const Json& step) : step_(step) {}

    bool has(const std::string& name) {
        asked_.insert(name);
        return step_.contains(name);
    }
    Json at(const std::string& name) {
        if (!has(name)) throw std::runtime_error("a step has no " + name + ": " + step_.dump());
        return step_.at(name);
    }
    template <class Value>
    Value get(const std::string& name, const Value& otherwise) {
        return has(name) ? step_.at(name).get<Value>() : otherwise;
    }
    std::string text(const std::string& name) { return get<std::string>(name, ""); }
    bool knows_all() const {
        for (const auto& [name, value] : step_.items()) {
            if (!asked_.contains(name)) return false;
        }
        return true;
    }

  private:
    Json step_;
    std::set<std::string> asked_;
};

}  // namespace onceward::pqxx
